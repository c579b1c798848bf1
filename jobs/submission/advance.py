"""One step of one job: claim it, and do what the row as it is now asks for."""

import logging
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import InterfaceError, OperationalError

from jobs.models import Job, JobEvent
from jobs.states import JobState
from jobs.submission import duplicates
from jobs.submission.cancel import send_cancel
from jobs.submission.delete import send_delete
from jobs.submission.ports import Change, Decide, Event, Ports
from jobs.submission.schedule import next_step_at, pause_after
from jobs.submission.submit import submit

logger = logging.getLogger(__name__)

Step = Callable[[Job, Ports], None]


def advance(job_id: UUID | str, ports: Ports) -> None:
    """Take a job that is due one step; do nothing when it is not due or another worker has claimed it.

    A fault in the step itself is written on the job, and the next try is made later and later. Where the database does
    not answer, `OperationalError` or `InterfaceError` is raised and the claim runs out by itself.
    """
    job = ports.store.claim(job_id)
    if job is None:
        return
    step = step_for(job)
    if step is None:
        ports.store.apply(job, nothing_to_do)
        return
    try:
        step(job, ports)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        logger.exception("a step of a job failed: %s", job.pk)
        ports.store.apply(job, step_failed(error))


def step_for(job: Job) -> Step | None:
    """Return what the job needs next: its submission, a pending deletion or cancellation, or a last look-up."""
    if job.state in {JobState.APPROVED, JobState.SUBMITTING}:
        return submit
    if job.deletion_requested_at is not None and job.deleted_at is None:
        return send_delete
    if job.cancel_requested_at is not None and job.remote_name and not job.is_finished:
        return send_cancel
    return duplicates.check if job.may_have_duplicates else None


def nothing_to_do(job: Job, now: datetime) -> Change:
    """Give the job back without another step, unless one was asked for meanwhile."""
    return Change(columns={"due_at": next_step_at(job, now)}, releases=True)


def step_failed(error: Exception) -> Decide:
    """Write down that a step failed for a reason that is a fault of Trainboard, and try again later."""

    def decide(job: Job, now: datetime) -> Change:
        message = f"A step failed inside Trainboard: {type(error).__name__}: {str(error)[:500]}"
        columns = {
            "due_at": now + pause_after(None, job.failures + 1),
            "failures": job.failures + 1,
            "last_error": message,
        }
        event = Event(JobEvent.Kind.STEP_FAILED, message, key=f"broken:{now.isoformat()}", reason="internal_fault")
        return Change(() if message == job.last_error else (event,), columns, releases=True)

    return decide
