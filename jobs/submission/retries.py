"""When a job needs its next step: after a failure, or after a step that leaves another one to do."""

from datetime import datetime, timedelta

from jobs.clock import backoff
from jobs.models import Job
from jobs.submission.ports import Change, Decide
from jobs.vertex import VertexError

FIRST_PAUSE = timedelta(seconds=2)
MAX_PAUSE = timedelta(minutes=5)
CHECK_AFTER = timedelta(minutes=5)
"""Time between settling a job that was sent more than once and looking up what else carries its label."""


def pause_after(error: VertexError | None, failures: int) -> timedelta:
    """Return the pause Vertex AI asked for, else one that doubles with every failure in a row, up to five minutes."""
    asked = error.retry_after if error is not None else None
    return asked or backoff(FIRST_PAUSE, failures, MAX_PAUSE)


def next_step_at(job: Job, now: datetime, *, is_checked: bool = False) -> datetime | None:
    """Return when a job whose submission is settled needs its next step, or None if it needs none.

    `job` is the row as it is when a step ends, because somebody may have asked to cancel it meanwhile. `is_checked`
    means that duplicates have just been looked up.
    """
    if job.deletion_requested_at is not None and job.deleted_at is None:
        return now
    if job.cancel_requested_at is not None and not job.is_finished:
        return now
    return now + CHECK_AFTER if job.may_have_duplicates and not is_checked else None


def put_off(error: VertexError) -> Decide:
    """Schedule a step again after its call failed."""

    def decide(job: Job, now: datetime) -> Change:
        columns = {"due_at": now + pause_after(error, job.failures), "failures": job.failures + 1}
        return Change(columns=columns | {"last_error": str(error)}, releases=True)

    return decide
