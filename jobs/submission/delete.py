"""Delete an ended job at Vertex AI. Trainboard keeps its own record: state, history, log and costs.

Like a cancellation, a deletion is a request with its own events. It is safe to repeat, because a job that Vertex AI
does not have is already deleted. Vertex AI answers with an operation, which may be finished at once. If it is not
finished, the job is requested by name until it is gone.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs import transitions, vertex
from jobs.errors import NotPermitted
from jobs.models import Job, JobEvent, Role
from jobs.permissions import check_is_ours, role_of
from jobs.states import FINISHED, LOCAL
from jobs.submission.ports import Change, Decide, Event, Ports
from jobs.submission.retries import CHECK_AFTER, put_off

PAUSE = timedelta(seconds=5)
MAX_DELETION = timedelta(minutes=10)
"""How long Vertex AI may take for a deletion it has accepted. Google does not document this."""
REQUESTED = "delete:requested:"
TAKEN = "delete:taken:"
DONE = "Vertex AI deleted its record of the job. Trainboard keeps its own."


def may_delete(job: Job, *, by: User, role: str | None) -> bool:
    """Return whether `by` may request the deletion now, so that a page can offer it. Makes no query.

    `role` is the role of `by` in the job's team. `delete` reads the role itself.
    """
    return can_be_deleted(job) and not job.is_adopted and _is_allowed(job, by, role)


def can_be_deleted(job: Job) -> bool:
    """Return whether the job ended at Vertex AI and nobody has requested its deletion."""
    ended_there = job.state in FINISHED - LOCAL and bool(job.remote_name)
    return ended_there and job.deletion_requested_at is None


def delete(job: Job, *, by: User, now: datetime) -> bool:
    """Request the deletion of an ended job at Vertex AI.

    Return False if it has not ended there or was requested before. Raise NotPermitted for an adopted job, and for
    everybody but the job's owner and the team's approvers and leads.
    """
    check_is_ours(job)
    if not _is_allowed(job, by, role_of(by, team_id=job.team_id)):
        raise NotPermitted(
            _("Only its owner, approvers and leads of %(team)s delete this job at Vertex AI.") % {"team": job.team}
        )
    with transaction.atomic():
        if not can_be_deleted(Job.objects.select_for_update().get(pk=job.pk)):
            return False
        return transitions.record_event(
            job,
            JobEvent.Kind.DELETE_REQUESTED,
            now=now,
            actor=by,
            message=f"{by.get_username()} asked Vertex AI to delete its record of the job.",
            once_key=f"{REQUESTED}{_requests(job) + 1}",
            deletion_requested_at=now,
            due_at=now,
        )


def send_delete(job: Job, ports: Ports) -> None:
    """Take one step of the requested deletion of a claimed job."""
    change: Decide
    taken = job.events.filter(once_key=f"{TAKEN}{_requests(job)}").first()
    try:
        if taken is None:
            change = deleted if ports.remote.delete(job) else accepted
        else:
            ports.remote.get(job)
            change = check_deletion(taken.recorded_at)
    except vertex.NotFound:
        change = deleted
    except (vertex.Refused, vertex.PermissionDenied) as error:
        change = refused(str(error))
    except vertex.VertexError as error:
        change = put_off(error)
    ports.store.apply(job, change)


def _is_allowed(job: Job, by: User, role: str | None) -> bool:
    return role in {Role.APPROVER, Role.LEAD} or (role == Role.ENGINEER and job.owner_id == by.pk)


def _requests(job: Job) -> int:
    return job.events.filter(once_key__startswith=REQUESTED).count()


# ---------------------------------------------------------------- decisions, from the locked row and the time
def deleted(job: Job, now: datetime) -> Change:
    """Record that Vertex AI does not have the job any more."""
    event = Event(JobEvent.Kind.DELETED, DONE, key="deleted")
    return Change((event,), {"deleted_at": now, **_settled(job, now)}, releases=True)


def accepted(job: Job, now: datetime) -> Change:
    """Record that Vertex AI accepted the deletion and finishes it later."""
    message = "Vertex AI accepted the deletion and is deleting its record of the job."
    event = Event(JobEvent.Kind.DELETE_REQUESTED, message, key=f"{TAKEN}{_requests(job)}", reason="taken")
    return Change((event,), {"due_at": now + PAUSE, "failures": 0, "last_error": ""}, releases=True)


def check_deletion(taken_at: datetime) -> Decide:
    """Decide about a job that Vertex AI still has after it accepted the deletion.

    It is checked again, or given up after `MAX_DELETION`.
    """

    def decide(job: Job, now: datetime) -> Change | None:
        if now - taken_at > MAX_DELETION:
            minutes = int(MAX_DELETION.total_seconds()) // 60
            return refused(f"It accepted the deletion but still has the job after {minutes} minutes.")(job, now)
        return Change(columns={"due_at": now + PAUSE, "failures": 0, "last_error": ""}, releases=True)

    return decide


def refused(words: str) -> Decide:
    """Record that Vertex AI refuses the deletion. The request is over, and a new one may be made."""

    def decide(job: Job, now: datetime) -> Change:
        message = f"Vertex AI did not delete its record of the job: {words}"
        key = f"delete:refused:{_requests(job)}"
        event = Event(JobEvent.Kind.STEP_FAILED, message, key=key, reason="delete_refused")
        return Change((event,), {"deletion_requested_at": None, **_settled(job, now)}, releases=True)

    return decide


def _settled(job: Job, now: datetime) -> dict[str, Any]:
    # Another job of the same request may still be at Vertex AI: it is looked up whatever became of this one.
    due_at = now + CHECK_AFTER if job.may_have_duplicates else None
    return {"due_at": due_at, "failures": 0, "last_error": ""}
