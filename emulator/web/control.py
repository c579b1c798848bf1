"""The control plane under `/_emulator/`: health, clock, stories, faults, preemption, and a dump of the truth."""

from typing import Any

from emulator.lifecycle.clock import SetClock
from emulator.protocol import timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, precondition
from emulator.rehearsal.stories import STORIES
from emulator.state.records import Job, Pipeline, Study
from emulator.world import World


def _body(call: Call, *known: str) -> dict[str, Any]:
    """Return the call's JSON object; ApiError 400 for anything but the known names."""
    given = call.json()
    if not isinstance(given, dict) or set(given) - set(known):
        raise invalid(f"The body must be a JSON object with {', '.join(known)}.")
    return given


def _find_job(world: World, text: str) -> Job:
    """Return a job by full name, id, or display name (the newest); ApiError 400 if there is none."""
    for job in reversed(world.store.all(Job)):
        if text in (job.name, job.id, job.document.get("displayName")):
            return job
    raise invalid(f"There is no custom job {text!r}.")


def health(world: World, call: Call) -> Document:
    """Return that it lives, and how it was started."""
    jobs = world.store.all(Job)
    return {
        "status": "ok",
        "speed": world.options.speed,
        "scripted": world.options.is_scripted,
        "now": timestamps.stamp(world.clock.now()),
        "jobs": len(jobs),
        "unfinished": sum(not job.is_finished for job in jobs),
        "address": call.address,
    }


def truth(world: World, call: Call) -> Document:
    """Return everything about every job that clients cannot see, oldest first."""
    wanted = call.query.get("job", "")
    jobs = [_find_job(world, wanted)] if wanted else world.store.all(Job)
    return {
        "now": timestamps.stamp(world.clock.now()),
        "calls": dict(world.calls),
        "jobs": [_job(job) for job in jobs],
        "studies": [_life(study) for study in world.store.all(Study)],
        "pipelines": [_life(pipeline) for pipeline in world.store.all(Pipeline)],
        "faults": [plan.as_dict() for plan in world.faults.plans],
    }


def _life(record: Job | Study | Pipeline) -> Document:
    return {
        "name": record.name,
        "id": record.id,
        "displayName": record.document.get("displayName", ""),
        "labels": record.document.get("labels", {}),
        "state": record.state,
        "history": [
            {"at": timestamps.stamp(at), "state": state, "told": told}
            for (at, state), told in zip(record.history, record.told, strict=True)
        ],
        "document": record.document,
    }


def _job(job: Job) -> Document:
    return _life(job) | {
        "owner": job.owner,
        "phase": str(job.phase),
        "story": job.story,
        "strategy": job.strategy,
        "attempt": job.attempt,
        "hosts": job.hosts,
        "retries": job.retries,
        "preemptions": job.preemptions,
        "stockouts": job.stockouts,
        "breakdowns": job.breakdowns,
        "workerRestarts": job.worker_restarts,
        "replicas": job.replicas,
        "timers": {key: timestamps.stamp(due) for key, due in job.timers.items()},
    }


def clock(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return the emulator's time."""
    return {"now": timestamps.stamp(world.clock.now())}


def set_clock(world: World, call: Call) -> Document:
    """Move the clock, `{"now": RFC 3339 or seconds}` or `{"advance": seconds}`; everything due until then happens."""
    body = _body(call, "now", "advance")
    if not isinstance(world.clock, SetClock):
        raise precondition("Only a scripted emulator has a clock that can be set.")
    try:
        if "advance" in body:
            until = world.clock.now() + float(body["advance"])
        else:
            given = body["now"]
            until = timestamps.moment(given) if isinstance(given, str) else float(given)
    except (KeyError, TypeError, ValueError):
        raise invalid("Give now (RFC 3339 or seconds since 1970) or advance (seconds).") from None
    world.advance(until)
    return clock(world, call)


def scripts(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return the stories that there are and the rules that choose among them."""
    return {
        "stories": {name: story.summary for name, story in STORIES.items()},
        "rules": [{"match": match, "story": story} for match, story in world.scripts.rules],
    }


def script(world: World, call: Call) -> Document:
    """Let new jobs that fit play a story: `{"match": list filter or display name with *, "story": name}`."""
    body = _body(call, "match", "story")
    world.scripts.add(str(body.get("match", "*")), str(body.get("story", "")))
    return scripts(world, call)


def faults(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return all plans and how often each has struck."""
    return {"faults": [plan.as_dict() for plan in world.faults.plans]}


def plan_fault(world: World, call: Call) -> Document:
    """Add a plan: see `faults`."""
    body = call.json()
    if not isinstance(body, dict):
        raise invalid("The body must be a JSON object.")
    return world.faults.plan(body).as_dict()


def forget_faults(world: World, call: Call) -> Document:
    """Drop all plans."""
    world.faults.plans.clear()
    return faults(world, call)


def capacity(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return the capacity plan, what is used, and how many changes are to come."""
    return world.plans.shown()


def change_capacity(world: World, call: Call) -> Document:
    """Merge a plan into the present one: see `capacity.ledger` and `capacity.plans`."""
    body = call.json()
    if not isinstance(body, dict):
        raise invalid("The body must be a JSON object.")
    world.plans.change(body)
    return world.plans.shown()


def clear_capacity(world: World, call: Call) -> Document:  # noqa: ARG001
    """Take all limits away."""
    world.plans.clear()
    return world.plans.shown()


def preempt(world: World, call: Call) -> Document:
    """Reclaim the machines of a Spot job now: `{"job": name, id or display name, "replica"?: "workerpool0-0"}`."""
    body = _body(call, "job", "replica")
    job = _find_job(world, str(body.get("job", "")))
    if job.strategy != "SPOT":
        raise precondition(f"{job.name} does not run on Spot machines.")
    world.engine.preempt(job, str(body.get("replica", "")))
    return _job(job)


def maintenance(world: World, call: Call) -> Document:
    """Move a replica to another machine: `{"job": ..., "replica"?: "workerpool0-0"}`."""
    body = _body(call, "job", "replica")
    job = _find_job(world, str(body.get("job", "")))
    world.engine.move(job, str(body.get("replica") or "workerpool0-0"))
    return _job(job)
