"""The control plane under `/_emulator/`: health, clock, stories, faults, preemption, and what clients cannot see."""

from typing import Any

from emulator.lifecycle.clock import SetClock
from emulator.lifecycle.stories import STORIES
from emulator.protocol import timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, precondition
from emulator.state.records import PRIMARY, Job, Pipeline, Study
from emulator.world import World


def _body(call: Call, *known: str) -> dict[str, Any]:
    """Return the call's JSON object; ApiError 400 for anything but the known names."""
    body = call.json()
    if not isinstance(body, dict) or set(body) - set(known):
        raise invalid(f"The body must be a JSON object with {', '.join(known)}.")
    return body


def _object(call: Call) -> dict[str, Any]:
    body = call.json()
    if not isinstance(body, dict):
        raise invalid("The body must be a JSON object.")
    return body


def _find_job(world: World, text: str) -> Job:
    """Return a job by full name, id, or display name (the newest); ApiError 400 if there is none."""
    for job in reversed(world.store.all(Job)):
        if text in (job.name, job.id, job.document.get("displayName")):
            return job
    raise invalid(f"There is no custom job {text!r}.")


def health(world: World, call: Call) -> Document:
    """Return that the emulator runs, and how it was started."""
    jobs = world.store.all(Job)
    return {
        "status": "ok",
        "speed": world.options.speed,
        "scripted": world.options.is_scripted,
        "now": world.runtime.timestamp(),
        "jobs": len(jobs),
        "unfinished": sum(not job.is_finished for job in jobs),
        "address": call.address,
    }


def truth(world: World, call: Call) -> Document:
    """Return everything about every job that clients cannot see, oldest first."""
    wanted = call.query.get("job", "")
    jobs = [_find_job(world, wanted)] if wanted else world.store.all(Job)
    return {
        "now": world.runtime.timestamp(),
        "calls": dict(world.calls),
        "jobs": [_show_job(job) for job in jobs],
        "studies": [_show(study) for study in world.store.all(Study)],
        "pipelines": [_show(pipeline) for pipeline in world.store.all(Pipeline)],
        "faults": [fault.as_dict() for fault in world.faults.planned],
    }


def _show(record: Job | Study | Pipeline) -> Document:
    return {
        "name": record.name,
        "id": record.id,
        "displayName": record.document.get("displayName", ""),
        "labels": record.document.get("labels", {}),
        "state": record.state,
        "history": [
            {"at": timestamps.format_time(at), "state": state, "told": answers}
            for (at, state), answers in zip(record.history, record.answers, strict=True)
        ],
        "document": record.document,
    }


def _show_job(job: Job) -> Document:
    return _show(job) | {
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
        "timers": {key: timestamps.format_time(due) for key, due in job.timers.items()},
    }


def clock(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return the emulator's time."""
    return {"now": world.runtime.timestamp()}


def set_clock(world: World, call: Call) -> Document:
    """Move the clock, `{"now": RFC 3339 or seconds}` or `{"advance": seconds}`; everything due until then happens."""
    body = _body(call, "now", "advance")
    if not isinstance(world.clock, SetClock):
        raise precondition("Only a scripted emulator has a clock that can be set.")
    try:
        if "advance" in body:
            until = world.clock.now() + float(body["advance"])
        else:
            now = body["now"]
            until = timestamps.parse_time(now) if isinstance(now, str) else float(now)
    except (KeyError, TypeError, ValueError):
        raise invalid("Give now (RFC 3339 or seconds since 1970) or advance (seconds).") from None
    world.advance(until)
    return clock(world, call)


def scripts(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return the stories that there are and the rules that choose among them."""
    return {
        "stories": {name: story.summary for name, story in STORIES.items()},
        "rules": [rule._asdict() for rule in world.story_rules.rules],
    }


def script(world: World, call: Call) -> Document:
    """Give new jobs that match a story: `{"match": filter or display name with *, "story": name, "times"?: {...}}`."""
    body = _body(call, "match", "story", "times")
    times = body.get("times", {})
    if not isinstance(times, dict):
        raise invalid("times is a JSON object.")
    world.story_rules.add(str(body.get("match", "*")), str(body.get("story", "")), times)
    return scripts(world, call)


def faults(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return all faults and how often each has happened."""
    return {"faults": [fault.as_dict() for fault in world.faults.planned]}


def plan_fault(world: World, call: Call) -> Document:
    """Add a fault: see `scenarios.faults`."""
    return world.faults.add(_object(call)).as_dict()


def forget_faults(world: World, call: Call) -> Document:
    """Remove all faults."""
    world.faults.planned.clear()
    return faults(world, call)


def capacity(world: World, call: Call) -> Document:  # noqa: ARG001
    """Return the capacity plan, what is used, and how many changes are to come."""
    return world.capacity_plans.show()


def change_capacity(world: World, call: Call) -> Document:
    """Merge a plan into the present one: see `capacity.inventory` and `capacity.plans`."""
    world.capacity_plans.change(_object(call))
    return world.capacity_plans.show()


def clear_capacity(world: World, call: Call) -> Document:  # noqa: ARG001
    """Remove all limits."""
    world.capacity_plans.clear()
    return world.capacity_plans.show()


def _job_and_replica(world: World, call: Call) -> tuple[Job, str]:
    body = _body(call, "job", "replica")
    return _find_job(world, str(body.get("job", ""))), str(body.get("replica") or "")


def preempt(world: World, call: Call) -> Document:
    """Reclaim the machines of a Spot job now: `{"job": name, id or display name, "replica"?: "workerpool0-0"}`."""
    job, replica = _job_and_replica(world, call)
    if job.strategy != "SPOT":
        raise precondition(f"{job.name} does not run on Spot machines.")
    world.engine.preempt(job, replica)
    return _show_job(job)


def evict(world: World, call: Call) -> Document:
    """Evict a replica, which starts again on its machine: `{"job": ..., "replica"?: "workerpool0-0"}`."""
    job, replica = _job_and_replica(world, call)
    world.engine.evict(job, replica or PRIMARY)
    return _show_job(job)


def maintenance(world: World, call: Call) -> Document:
    """Move a replica to another machine: `{"job": ..., "replica"?: "workerpool0-0"}`."""
    job, replica = _job_and_replica(world, call)
    world.engine.move(job, replica or PRIMARY)
    return _show_job(job)
