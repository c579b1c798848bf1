"""projects.locations.hyperparameterTuningJobs: create, get, list (without trials), cancel, delete (JobService v1)."""

from emulator.creation import checks, study_checks
from emulator.methods.resources import answer, deleted, find, listed, parent
from emulator.protocol import documents
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import precondition
from emulator.state.records import Job, Study
from emulator.world import World


def create(world: World, call: Call) -> Document:
    """Take in a study; its first trials start at once."""
    call.refuse_unknown_arguments()
    parent(call)
    document = documents.read("HyperparameterTuningJob", call.json(), at="hyperparameter_tuning_job")
    checks.refuse(_wrong(document))
    checks.fill_spec(document["trialJobSpec"])
    study = world.intake.new_study(project=call.params["project"], location=call.params["location"], document=document)
    world.tuning.submit(study)
    return answer(call, study)


def _wrong(document: Document) -> checks.Wrong:
    yield from checks.display_name(document)
    yield from checks.labels(document)
    yield from study_checks.tuning_job(document)


def get(world: World, call: Call) -> Document:
    """Return a study with its trials; those that run name the shells of their jobs."""
    call.refuse_unknown_arguments()
    study = find(world, call, Study)
    shown = answer(call, study)
    trials = [trial | _shells(world, trial) for trial in shown.get("trials", [])]
    return shown | {"trials": trials} if trials else shown


def _shells(world: World, trial: Document) -> Document:
    job = world.store.get(Job, trial.get("customJob", ""))
    uris = job.document.get("webAccessUris") if job is not None else None
    return {"webAccessUris": uris} if uris else {}


def list_(world: World, call: Call) -> Document:
    """Return a page of studies, newest first, without their trials."""
    return listed(world, call, Study, without=("trials",))


def cancel(world: World, call: Call) -> Document:
    """Start to cancel a study."""
    world.tuning.cancel(find(world, call, Study))
    return {}


def delete(world: World, call: Call) -> Document:
    """Delete a study that has ended; the jobs of its trials stay."""
    study = find(world, call, Study)
    if not study.is_finished:
        raise precondition(f"The {study.message} {study.name} is in state {study.state}; cancel it first.")
    return deleted(world, call, study)
