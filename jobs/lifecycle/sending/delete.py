"""Deleting what Vertex AI keeps of a job that has ended. What Trainboard keeps stays: state, history, log, costs.

Like a cancellation it is a request with events of its own. It is safe to repeat, because a job that Vertex AI does not
know is what was asked for. Vertex AI answers with an operation, which may be finished at once; where it is not, the job
is asked for by name until it is gone.
"""

import uuid
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from jobs import vertex
from jobs.lifecycle import budget, claims, door
from jobs.lifecycle.asking.ours import check_is_ours
from jobs.lifecycle.asking.roles import role_of
from jobs.lifecycle.connection import client
from jobs.lifecycle.errors import NotPermitted
from jobs.models import Job, JobEvent, Role
from jobs.states import FINISHED, LOCAL

PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=5)
TAKEN_FOR = timedelta(minutes=10)
"""How long Vertex AI may take for a deletion that it has accepted; Google does not document it."""
REQUESTED = "delete:requested:"
TAKEN = "delete:taken:"
DONE = "Vertex AI has deleted its record of the job; Trainboard keeps its own."


def may_delete(job: Job, *, by: User) -> bool:
    """Tell whether `by` may ask for the deletion now, as a page wants to know before it offers it."""
    return can_be_deleted(job) and not job.is_adopted and _has_role(job, by)


def can_be_deleted(job: Job) -> bool:
    """Tell whether it ended at Vertex AI, and nobody has asked for its deletion."""
    ended_there = job.state in FINISHED - LOCAL and bool(job.remote_name)
    return ended_there and job.deletion_requested_at is None


def delete(job: Job, *, by: User, now: datetime) -> bool:
    """Ask for the deletion of what Vertex AI keeps of a job; False when it has not ended there, or was asked before.

    Raises NotPermitted for an adopted job, and for everybody but its owner and the team's approvers and leads.
    """
    check_is_ours(job)
    if not _has_role(job, by):
        raise NotPermitted(f"Only its owner, approvers and leads of {job.team} delete this job at Vertex AI.")
    with transaction.atomic():
        if not can_be_deleted(Job.objects.select_for_update().get(pk=job.pk)):
            return False
        return door.note(
            job,
            JobEvent.Kind.DELETE_REQUESTED,
            now=now,
            actor=by,
            sentence=f"{by.get_username()} asked Vertex AI to delete its record of the job.",
            once_key=f"{REQUESTED}{_requests(job) + 1}",
            deletion_requested_at=now,
            due_at=now,
        )


def send_delete(job_id: uuid.UUID | str, *, now: datetime) -> None:
    """Take a requested deletion one step; does nothing when another worker holds the job."""
    job = claims.claim_job(job_id, now)
    if job is None:
        return
    if job.deletion_requested_at is None or job.deleted_at is not None:
        claims.release_job(job, due_at=None)
        return
    taken = job.events.filter(once_key=f"{TAKEN}{_requests(job)}").first()
    try:
        if taken is not None:
            _look(job, taken.recorded_at, now)
        else:
            _send(job, now)
    except vertex.NotFound:
        _done(job, now)
    except (vertex.Refused, vertex.PermissionDenied) as error:
        _over(job, str(error), now)
    except vertex.VertexError as error:
        claims.release_job(job, due_at=now + _pause(job, error, now), trouble=str(error))


def _has_role(job: Job, by: User) -> bool:
    role = role_of(by, team_id=job.team_id)
    return role in {Role.APPROVER, Role.LEAD} or (role == Role.ENGINEER and job.owner_id == by.pk)


def _requests(job: Job) -> int:
    return job.events.filter(once_key__startswith=REQUESTED).count()


def _send(job: Job, now: datetime) -> None:
    budget.spend(budget.creates(job.project, job.region), now=now)
    if client().delete(job.kind, job.remote_name):
        _done(job, now)
        return
    with transaction.atomic():
        if claims.still_mine(job):
            door.note(
                job,
                JobEvent.Kind.DELETE_REQUESTED,
                now=now,
                reason="taken",
                sentence="Vertex AI took the deletion and is at it.",
                once_key=f"{TAKEN}{_requests(job)}",
            )
            claims.release_job(job, due_at=now + PAUSE)


def _look(job: Job, taken_at: datetime, now: datetime) -> None:
    """See whether a deletion that Vertex AI took is done; NotFound says so."""
    budget.spend(budget.reads(job.project, job.region), now=now)
    client().get(job.kind, job.remote_name)
    if now - taken_at > TAKEN_FOR:
        minutes = int(TAKEN_FOR.total_seconds()) // 60
        _over(job, f"It took the deletion, but still keeps the job after {minutes} minutes.", now)
    else:
        claims.release_job(job, due_at=now + PAUSE)


def _done(job: Job, now: datetime) -> None:
    with transaction.atomic():
        if claims.still_mine(job):
            door.note(job, JobEvent.Kind.DELETED, now=now, sentence=DONE, once_key="deleted", deleted_at=now)
            claims.release_job(job, due_at=None)


def _over(job: Job, words: str, now: datetime) -> None:
    """Vertex AI will not do it: the request is over, and may be made again."""
    with transaction.atomic():
        if claims.still_mine(job):
            door.note(
                job,
                JobEvent.Kind.TROUBLE,
                now=now,
                reason="delete_refused",
                sentence=f"Vertex AI did not delete its record of the job: {words}",
                once_key=f"delete:refused:{_requests(job)}",
                deletion_requested_at=None,
            )
            claims.release_job(job, due_at=None)


def _pause(job: Job, error: vertex.VertexError, now: datetime) -> timedelta:
    """How long to wait: what Google asked for, else as long again as it has taken so far, up to five minutes."""
    assert job.deletion_requested_at is not None
    return error.retry_after or min(max(PAUSE, now - job.deletion_requested_at), LONGEST_PAUSE)
