"""The control plane under `/_emulator/`: health, clock, scripts, faults, preemption, and state hidden from clients."""

from typing import Any

from emulator.emulator import START_SETTING, Emulator
from emulator.lifecycle.clock import SetClock
from emulator.lifecycle.scripts import SCRIPTS, STARTS
from emulator.protocol import timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid, precondition
from emulator.state.records import PRIMARY, Job, Pipeline, Study


def _body(call: Call, *known: str) -> dict[str, Any]:
    """Return the call's JSON object. Raise ApiError 400 for other names than the known ones."""
    body = call.json()
    if not isinstance(body, dict) or set(body) - set(known):
        raise invalid(f"The body must be a JSON object with {', '.join(known)}.")
    return body


def _object(call: Call) -> dict[str, Any]:
    body = call.json()
    if not isinstance(body, dict):
        raise invalid("The body must be a JSON object.")
    return body


def _find_job(emulator: Emulator, text: str) -> Job:
    """Return a job by full name, id, or display name (the newest). Raise ApiError 400 if there is none."""
    for job in reversed(emulator.store.all(Job)):
        if text in (job.name, job.id, job.document.get("displayName")):
            return job
    raise invalid(f"There is no custom job {text!r}.")


def health(emulator: Emulator, call: Call) -> Document:
    """Return that the emulator runs, and its options."""
    jobs = emulator.store.all(Job)
    return {
        "status": "ok",
        "speed": emulator.options.speed,
        "scripted": emulator.options.is_scripted,
        "now": emulator.runtime.timestamp(),
        "jobs": len(jobs),
        "unfinished": sum(not job.is_finished for job in jobs),
        "address": call.address,
    }


def truth(emulator: Emulator, call: Call) -> Document:
    """Return everything about every job that clients cannot see, oldest first."""
    wanted = call.query.get("job", "")
    jobs = [_find_job(emulator, wanted)] if wanted else emulator.store.all(Job)
    return {
        "now": emulator.runtime.timestamp(),
        "calls": dict(emulator.calls),
        "jobs": [_show_job(job) for job in jobs],
        "studies": [_show(study) for study in emulator.store.all(Study)],
        "pipelines": [_show(pipeline) for pipeline in emulator.store.all(Pipeline)],
        "faults": [fault.as_dict() for fault in emulator.faults.planned],
    }


def _show(record: Job | Study | Pipeline) -> Document:
    return {
        "name": record.name,
        "id": record.id,
        "displayName": record.document.get("displayName", ""),
        "labels": record.document.get("labels", {}),
        "state": record.state,
        "history": [
            {"at": timestamps.format_time(at), "state": state, "answers": answers}
            for (at, state), answers in zip(record.history, record.answers, strict=True)
        ],
        "document": record.document,
    }


def _show_job(job: Job) -> Document:
    return _show(job) | {
        "owner": job.owner,
        "phase": str(job.phase),
        "script": job.script,
        "strategy": job.strategy,
        "attempt": job.attempt,
        "firstStart": timestamps.format_time(job.first_start) if job.first_start else None,
        "hosts": job.hosts,
        "retries": job.retries,
        "preemptions": job.preemptions,
        "stockouts": job.stockouts,
        "breakdowns": job.breakdowns,
        "workerRestarts": job.worker_restarts,
        "replicas": job.replicas,
        "timers": {key: timestamps.format_time(due) for key, due in job.timers.items()},
    }


def clock(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return the emulator's time."""
    return {"now": emulator.runtime.timestamp()}


def set_clock(emulator: Emulator, call: Call) -> Document:
    """Move the clock, `{"now": RFC 3339 or seconds}` or `{"advance": seconds}`. Everything due until then happens."""
    body = _body(call, "now", "advance")
    if not isinstance(emulator.clock, SetClock):
        raise precondition("Only a scripted emulator has a clock that can be set.")
    try:
        if "advance" in body:
            until = emulator.clock.now() + float(body["advance"])
        else:
            now = body["now"]
            until = timestamps.parse_time(now) if isinstance(now, str) else float(now)
    except (KeyError, TypeError, ValueError):
        raise invalid("Give now (RFC 3339 or seconds since 1970) or advance (seconds).") from None
    emulator.advance(until)
    return clock(emulator, call)


def scripts(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return the scripts and the rules that choose among them."""
    return {
        "scripts": {name: script.summary for name, script in SCRIPTS.items()},
        "rules": [rule._asdict() for rule in emulator.script_rules.rules],
    }


def script(emulator: Emulator, call: Call) -> Document:
    """Assign a script to matching new jobs: `{"match": filter or name with *, "script": name, "times"?: {...}}`."""
    body = _body(call, "match", "script", "story", "times")  # "story" is the former name of "script"
    times = body.get("times", {})
    if not isinstance(times, dict):
        raise invalid("times must be a JSON object.")
    emulator.script_rules.add(str(body.get("match", "*")), str(body.get("script", body.get("story", ""))), times)
    return scripts(emulator, call)


def settings(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return what can be set about jobs."""
    return {START_SETTING: emulator.phases.start_after_restart}


def change_settings(emulator: Emulator, call: Call) -> Document:
    """Set what `startTime` shows after a restart, for restarts from now on: `{"start_after_restart": "last"}`."""
    value = _body(call, START_SETTING).get(START_SETTING)
    if value not in STARTS:
        raise invalid(f"{START_SETTING} must be one of {', '.join(STARTS)}.")
    emulator.phases.start_after_restart = value
    emulator.store.set_setting(START_SETTING, value)
    return settings(emulator, call)


def faults(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return all faults and how often each has occurred."""
    return {"faults": [fault.as_dict() for fault in emulator.faults.planned]}


def plan_fault(emulator: Emulator, call: Call) -> Document:
    """Add a fault; see `scenarios.faults`."""
    return emulator.faults.add(_object(call)).as_dict()


def forget_faults(emulator: Emulator, call: Call) -> Document:
    """Remove all faults."""
    emulator.faults.planned.clear()
    return faults(emulator, call)


def capacity(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return the capacity plan, its usage, and the number of pending changes."""
    return emulator.capacity_plans.show()


def change_capacity(emulator: Emulator, call: Call) -> Document:
    """Merge a plan into the current one; see `capacity.inventory` and `capacity.plans`."""
    emulator.capacity_plans.change(_object(call))
    return emulator.capacity_plans.show()


def clear_capacity(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Remove all limits."""
    emulator.capacity_plans.clear()
    return emulator.capacity_plans.show()


def _job_and_replica(emulator: Emulator, call: Call) -> tuple[Job, str]:
    body = _body(call, "job", "replica")
    return _find_job(emulator, str(body.get("job", ""))), str(body.get("replica") or "")


def preempt(emulator: Emulator, call: Call) -> Document:
    """Reclaim the machines of a Spot job now: `{"job": name, id or display name, "replica"?: "workerpool0-0"}`."""
    job, replica = _job_and_replica(emulator, call)
    if job.strategy != "SPOT":
        raise precondition(f"{job.name} does not run on Spot machines.")
    emulator.engine.preempt(job, replica)
    return _show_job(job)


def evict(emulator: Emulator, call: Call) -> Document:
    """Evict a replica, which restarts on its machine: `{"job": ..., "replica"?: "workerpool0-0"}`."""
    job, replica = _job_and_replica(emulator, call)
    emulator.engine.evict(job, replica or PRIMARY)
    return _show_job(job)


def maintenance(emulator: Emulator, call: Call) -> Document:
    """Move a replica to another machine: `{"job": ..., "replica"?: "workerpool0-0"}`."""
    job, replica = _job_and_replica(emulator, call)
    emulator.engine.move(job, replica or PRIMARY)
    return _show_job(job)
