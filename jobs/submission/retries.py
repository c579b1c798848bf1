"""When a job needs its next step: after a failure, and after a step that left another one to do."""

from datetime import datetime, timedelta

from jobs.clock import backoff
from jobs.models import Job
from jobs.submission.ports import Change, Decide
from jobs.vertex import VertexError

FIRST_PAUSE = timedelta(seconds=2)
MAX_PAUSE = timedelta(minutes=5)
CHECK_AFTER = timedelta(minutes=5)
"""From the settling of a job that was sent more than once to the look-up of what else carries its label."""


def pause_after(error: VertexError | None, failures: int) -> timedelta:
    """Return what Vertex AI asked for, else a pause that doubles with every failure in a row, up to five minutes."""
    asked = error.retry_after if error is not None else None
    return asked or backoff(FIRST_PAUSE, failures, MAX_PAUSE)


def next_step_at(job: Job, now: datetime, *, is_checked: bool = False) -> datetime | None:
    """Return when a worker has something to do for a job whose submission is settled; None when there is nothing.

    It is asked of the row as it is when a step ends: somebody may have asked to cancel the job meanwhile. `is_checked`:
    second jobs of the request have just been looked for.
    """
    if job.deletion_requested_at is not None and job.deleted_at is None:
        return now
    if job.cancel_requested_at is not None and not job.is_finished:
        return now
    return now + CHECK_AFTER if job.may_have_duplicates and not is_checked else None


def put_off(error: VertexError) -> Decide:
    """Decide when a step whose call failed is made again."""

    def decide(job: Job, now: datetime) -> Change:
        columns = {"due_at": now + pause_after(error, job.failures), "failures": job.failures + 1}
        return Change(columns=columns | {"last_error": str(error)}, releases=True)

    return decide
