"""projects.locations.customJobs: create, get, list, cancel, delete (JobService v1)."""

from emulator.creation import checks
from emulator.methods.resources import answer, deleted, find, listed, parent
from emulator.protocol import documents
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import precondition
from emulator.state.records import Job
from emulator.world import World


def create(world: World, call: Call) -> Document:
    """Take in a job; it is queued at once."""
    call.refuse_unknown_arguments()
    parent(call)
    document = documents.read("CustomJob", call.json(), at="custom_job")
    checks.refuse(checks.custom_job(document))
    checks.with_defaults(document)
    job = world.intake.new_job(project=call.params["project"], location=call.params["location"], document=document)
    world.engine.submit(job)
    return answer(call, job)


def get(world: World, call: Call) -> Document:
    """Return a job."""
    call.refuse_unknown_arguments()
    return answer(call, find(world, call, Job))


def list_(world: World, call: Call) -> Document:
    """Return a page of jobs, newest first."""
    return listed(world, call, Job)


def cancel(world: World, call: Call) -> Document:
    """Start to cancel a job."""
    call.json()
    world.engine.cancel(find(world, call, Job))
    return {}


def delete(world: World, call: Call) -> Document:
    """Delete a job that has ended; its log stays."""
    job = find(world, call, Job)
    if not job.is_finished:
        raise precondition(f"The CustomJob {job.name} is in state {job.state}; cancel it before it is deleted.")
    return deleted(world, call, job)
