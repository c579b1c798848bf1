"""Cancelling is a request: before submission it ends the job, afterwards Vertex AI decides and may be too late."""

import uuid
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from jobs import vertex
from jobs.lifecycle import budget, claims, door
from jobs.lifecycle.asking.ours import check_is_ours
from jobs.lifecycle.connection import client
from jobs.models import Job, JobEvent
from jobs.states import JobState

PAUSE = timedelta(seconds=5)


def cancel(job: Job, *, by: User, now: datetime) -> bool:
    """Ask for the end of a job; False when it has ended or was asked before. Raises NotPermitted for an adopted one.

    A job that is not submitted is withdrawn at once. For one that is, or may be, at Vertex AI the request is recorded
    and becomes due; the state changes when Vertex AI says so.
    """
    check_is_ours(job)
    if job.state in {JobState.AWAITING_APPROVAL, JobState.APPROVED}:
        return door.move(
            job,
            JobState.WITHDRAWN,
            now=now,
            actor=by,
            reason="cancelled",
            sentence=f"{by.get_username()} withdrew it before it was submitted.",
        )
    if job.is_finished or job.cancel_requested_at is not None:
        return False
    return door.note(
        job,
        JobEvent.Kind.CANCEL_REQUESTED,
        now=now,
        actor=by,
        sentence=f"{by.get_username()} asked to cancel it.",
        once_key="cancel:requested",
        cancel_requested_at=now,
        due_at=now,
    )


def send_cancel(job_id: uuid.UUID | str, *, now: datetime) -> None:
    """Send a requested cancellation to Vertex AI; does nothing when another worker holds the job."""
    job = claims.claim_job(job_id, now)
    if job is None:
        return
    if job.is_finished or not job.remote_name or job.cancel_requested_at is None or job.cancel_sent_at is not None:
        claims.release_job(job, due_at=None)
        return
    try:
        budget.spend(budget.reads(job.project, job.region), now=now)
        client().cancel(job.kind, job.remote_name)
    except (vertex.Refused, vertex.NotFound) as error:  # it ended meanwhile: the observer learns how
        words = f"Vertex AI did not take the cancellation: {error}"
    except vertex.VertexError as error:
        claims.release_job(job, due_at=now + (error.retry_after or PAUSE), trouble=str(error))
        return
    else:
        words = "Vertex AI took the cancellation; the job may still end by itself first."
    _sent(job, words, now)


def _sent(job: Job, words: str, now: datetime) -> None:
    with transaction.atomic():
        if not claims.still_mine(job):
            return
        door.note(
            job,
            JobEvent.Kind.CANCEL_SENT,
            now=now,
            sentence=words,
            once_key="cancel:sent",
            cancel_sent_at=now,
        )
        claims.release_job(job, due_at=None)
        claims.wake_scope(project=job.project, region=job.region, kind=job.kind, due_at=now)
