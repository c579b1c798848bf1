"""What is due, and the next step of each: a job is claimed, and what its row asks for is done.

The database is the queue. Celery's messages only make it fast; `repair` finds what has no next step.
"""

import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, Window
from django.db.models.functions import RowNumber

from jobs.clock import Clock
from jobs.models import Discovery, Installation, Job, JobEvent, LogFeed, ResourceChange, Scope
from jobs.observation.observe import observe as observe_jobs
from jobs.observation.persistent_resources import observe_resources
from jobs.queue import installation
from jobs.requests import check_is_ours, fallbacks
from jobs.states import JobState
from jobs.submission import duplicates, unmatched
from jobs.submission.adapters import DatabaseStore, VertexRemote
from jobs.submission.cancel import cancel as request_cancel
from jobs.submission.cancel import send_cancel
from jobs.submission.delete import send_delete
from jobs.submission.ports import Change, Decide, Event, Ports
from jobs.submission.resource_changes import send_change
from jobs.submission.retries import next_step_at, pause_after
from jobs.submission.submit import submit

logger = logging.getLogger(__name__)

Step = Callable[[Job, Ports], None]

AT_ONCE = 500
"""Rows handed out by one sweep; the next sweep finds the rest."""


def due_jobs(now: datetime) -> list[uuid.UUID]:
    """Jobs whose next step is due: the oldest of each team, then the second of each, and so on.

    So a team that submits a thousand jobs delays another team's first job by one, not by a thousand. Jobs that nobody
    has tried to send yet take turns with all others: one that may run unseen, or that is to be cancelled while it
    costs money, does not wait behind a crowd. None where the database belongs to another instance, as a copy of it
    that is used for staging does.
    """
    if installation.is_external():
        return []
    oldest_first = ["requested_at", "due_at", "pk"]
    is_new = ExpressionWrapper(Q(state=JobState.APPROVED), BooleanField())
    turn = Window(RowNumber(), partition_by=["team_id", "is_new"], order_by=oldest_first)
    due = Job.objects.due(now).annotate(is_new=is_new).annotate(turn=turn).order_by("turn", "is_new", *oldest_first)
    return list(due.values_list("pk", flat=True)[:AT_ONCE])


def begin_sweep(now: datetime, *, interval: timedelta) -> bool:
    """Return whether a sweep should be made now; False while another one is less than half an interval old.

    Sweeps pile up where all threads of the workers are busy for a while. The database's clock decides, so that beat and
    worker need not agree on the time. A `swept_at` in the future means that the clock was set back; it is ignored.
    """
    installation.trusted_since(now)
    old = Q(swept_at=None) | Q(swept_at__lte=now - interval / 2) | Q(swept_at__gt=now)
    return bool(Installation.objects.filter(old, pk=1).update(swept_at=now))


def due_feeds(now: datetime) -> list[int]:
    """Projects whose logs should be read, oldest first."""
    return list(LogFeed.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_discoveries(now: datetime) -> list[int]:
    """Discoveries that somebody asked for, oldest first."""
    return list(Discovery.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_scopes(now: datetime) -> list[int]:
    """Scopes that are due to be polled, oldest first."""
    return list(Scope.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_resource_changes(now: datetime) -> list[int]:
    """Changes of persistent resources that are to be sent, oldest first; none where another instance is in charge."""
    if installation.is_external():
        return []
    return list(ResourceChange.objects.due(now).filter(ended_at=None).values_list("pk", flat=True)[:AT_ONCE])


def change_resource(change_id: int, *, clock: Clock) -> None:
    """Take a change of a persistent resource one step."""
    send_change(change_id, now=clock.now())


def observe(scope_id: int, *, clock: Clock) -> None:
    """Poll one scope: its jobs, or its persistent resources. What carries our label unfollowed is settled at once."""
    now = clock.now()
    for kind in Scope.objects.filter(pk=scope_id).values_list("kind", flat=True):
        if kind == Scope.Kind.PERSISTENT_RESOURCE:
            observe_resources(scope_id, now=now)
        elif (listed := observe_jobs(scope_id, now=now)) is not None:
            unmatched.match_listed(scope_id, listed, ports(clock))


def advance(job_id: uuid.UUID | str, *, clock: Clock) -> None:
    """Take one job its next step: submission before Vertex AI has it, then a pending cancellation or deletion."""
    take_step(job_id, ports(clock))


def take_step(job_id: uuid.UUID | str, ports: Ports) -> None:
    """Claim a job that is due and take it one step; do nothing when it is not due or another worker has claimed it.

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


def cancel(job: Job, *, by: User, clock: Clock) -> bool:
    """Ask for the end of a job, and let no further attempt of its request follow; see `submission.cancel`."""
    check_is_ours(job)
    with transaction.atomic():
        stopped = fallbacks.stop_attempts(job, by=by, now=clock.now())
        return request_cancel(job, by=by, store=DatabaseStore(clock)) or stopped


def ports(clock: Clock) -> Ports:
    """Return the database and Vertex AI as the settings name them."""
    return Ports(DatabaseStore(clock), VertexRemote(clock), clock)
