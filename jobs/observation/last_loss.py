"""The machine loss that ends a Spot job. Vertex AI restarts the job six times; the seventh loss is not a restart."""

from collections.abc import Sequence
from datetime import datetime

from jobs import transitions
from jobs.diagnosis import diagnose
from jobs.models import Job, JobEvent, LogLine
from jobs.observation.restart_causes import is_spot
from jobs.states import JobState
from jobs.timeline import BILLABLE
from jobs.timeline.retry_budget import CAPACITY, GROUPS, restart_causes, restart_limits
from jobs.vertex.logs import SERVICE, TAKEN_AWAY

ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth".split()
COUNTS = "none one two three four five six seven eight nine ten".split()
LAST_OF = {
    "capacity": "This was the last of {} restarts. The job fails if it loses its machines again.",
    "retries": "This was the last of {} retries. The job fails at the next such failure.",
    "internal": "This was the last of {} retries. The job fails at the next internal error.",
}


def last_restart_words(job: Job, events: Sequence[JobEvent], reason: str) -> str:
    """Return a sentence if this restart uses up the retry budget, else "". `events` do not contain the restart yet."""
    group = GROUPS.get(reason, "")
    used = sum(count for cause, count in restart_causes(events).items() if GROUPS.get(cause) == group) + 1
    limit = restart_limits(job).get(group)
    return LAST_OF[group].format(_word(limit, COUNTS)) if limit is not None and used == limit else ""


def record_last_loss(
    job: Job, events: Sequence[JobEvent], lines: Sequence[LogLine], now: datetime, *, after: datetime | None
) -> None:
    """Record once the machine loss with which a Spot job failed, at its time in the log or else the job's end.

    `after` is when the last attempt began; None if the first one was the last. If the log is read later and shows
    another cause, that is recorded as an event of its own, as for a restart.
    """
    if job.state != JobState.FAILED or not is_spot(job) or not _is_loss(job.error):
        return
    causes = restart_causes(events)
    losses = {cause: causes[cause] for cause, group in GROUPS.items() if group == CAPACITY}
    since = after or job.submitted_at or job.requested_at
    taken = next((line for line in lines if line.timestamp > since and line.message.startswith(TAKEN_AWAY)), None)
    # Whether the machines ran until the end. For a pipeline only its custom job shows this: it is RUNNING without any.
    of_custom_job = [row for row in events if row.kind == JobEvent.Kind.CUSTOM_JOB_STATE]
    own = () if job.kind == Job.Kind.PIPELINE else events
    was_running = any(row.from_state in BILLABLE and row.to_state == JobState.FAILED for row in of_custom_job or own)
    reason = "preempted" if taken is not None or was_running else "stockout"
    errors = (line for line in reversed(lines) if line.replica == SERVICE and line.severity == "ERROR")
    named = (line for line in errors if line.timestamp > since and _is_loss({"message": line.message}))
    line_of_loss = taken or next(named, None)
    message = _words(reason, sum(losses.values()), restart_limits(job)[CAPACITY])
    recorded = next((row for row in events if row.kind == JobEvent.Kind.MACHINES_LOST), None)
    if recorded is None:
        transitions.record_event(
            job,
            JobEvent.Kind.MACHINES_LOST,
            now=now,
            occurred_at=line_of_loss.timestamp if line_of_loss is not None else job.ended_at,
            reason=reason,
            message=message,
            detail={"replica": "", "restarts": losses},
            once_key="machines_lost",
        )
    elif recorded.reason != reason and line_of_loss is not None:
        transitions.record_event(
            job,
            JobEvent.Kind.EXPLAINED,
            now=now,
            occurred_at=recorded.occurred_at,
            reason=reason,
            message=f"The log shows the cause of the last loss. {message}",
            detail={"restart": recorded.once_key},
            once_key=f"explained:{recorded.once_key}",
        )


def _is_loss(error: object) -> bool:
    if not isinstance(error, dict):
        return False
    known = diagnose(error.get("code"), str(error.get("message", "")))
    return known is not None and known.cause in {"stockout", "preempted"}


def _words(reason: str, used: int, limit: int) -> str:
    """Return what happened. A Spot job that ends with a loss has used all its restarts, also those that nobody saw."""
    what = "Compute Engine preempted the Spot VM" if reason == "preempted" else "The region was out of capacity"
    end = f"it had used its {_word(limit, COUNTS)} restarts, so Vertex AI ended it"
    seen = "" if used >= limit else f" Trainboard saw {_word(used, COUNTS)} of them."
    return f"{what}. This was the {_word(limit + 1, ORDINALS)} loss of the job; {end}.{seen}"


def _word(number: int, words: Sequence[str]) -> str:
    return words[number] if number < len(words) else str(number)
