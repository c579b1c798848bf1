"""Find due rows, and claim each and take its next step.

The database is the queue. Celery's messages only make it faster; `repair` finds rows without a next step.
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
from jobs.isolation import is_outage
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
from jobs.submission.doubts import Doubts
from jobs.submission.ports import Change, Decide, Event, Ports
from jobs.submission.resource_changes import send_change
from jobs.submission.retries import next_step_at, pause_after
from jobs.submission.submit import submit

logger = logging.getLogger(__name__)

Step = Callable[[Job, Ports], None]

_doubts = Doubts()
AT_ONCE = 500
"""Rows that one sweep hands out; the next sweep finds the rest."""


def due_jobs(now: datetime) -> list[uuid.UUID]:
    """Return the jobs whose next step is due: the oldest of each team, then the second of each, and so on.

    A team that submits a thousand jobs thus delays another team's first job by one, not by a thousand. Jobs that were
    never sent take turns with all others, so that a job that may run unseen, or that costs money until it is cancelled,
    does not wait behind many new ones. Return nothing if the database belongs to another instance, as a copy for
    staging does.
    """
    if not Job.objects.due(now).exists() or installation.is_external():
        return []
    oldest_first = ["requested_at", "due_at", "pk"]
    is_new = ExpressionWrapper(Q(state=JobState.APPROVED), BooleanField())
    turn = Window(RowNumber(), partition_by=["team_id", "is_new"], order_by=oldest_first)
    due = Job.objects.due(now).annotate(is_new=is_new).annotate(turn=turn).order_by("turn", "is_new", *oldest_first)
    return list(due.values_list("pk", flat=True)[:AT_ONCE])


def begin_sweep(now: datetime, *, interval: timedelta) -> bool:
    """Return whether to sweep now; False if another sweep is less than half an interval old.

    Sweeps pile up while all threads of the workers are busy, or while no worker runs; each one too many costs one short
    query. The database's clock decides, so beat and worker need not agree on the time. A `swept_at` in the future means
    that the clock was set back; it is ignored.
    """
    row = installation.load_installation(now)
    if row.swept_at is not None and now - interval / 2 < row.swept_at <= now:
        return False
    installation.load_trust(now, row)
    old = Q(swept_at=None) | Q(swept_at__lte=now - interval / 2) | Q(swept_at__gt=now)
    return bool(Installation.objects.filter(old, pk=1).update(swept_at=now))


def due_feeds(now: datetime) -> list[int]:
    """Return the projects whose logs are due to be read, oldest first."""
    return list(LogFeed.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_discoveries(now: datetime) -> list[int]:
    """Return the requested discoveries that are due, oldest first."""
    return list(Discovery.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_scopes(now: datetime) -> list[int]:
    """Return the scopes that are due to be polled, oldest first."""
    return list(Scope.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_resource_changes(now: datetime) -> list[int]:
    """Return the due changes of persistent resources, oldest first; none if another instance is in charge."""
    keys = list(ResourceChange.objects.due(now).filter(ended_at=None).values_list("pk", flat=True)[:AT_ONCE])
    return [] if keys and installation.is_external() else keys


def change_resource(change_id: int, *, clock: Clock) -> None:
    """Take the next step of a change of a persistent resource."""
    send_change(change_id, clock=clock)


def observe(scope_id: int, *, clock: Clock) -> None:
    """Poll one scope: its jobs or its persistent resources. Jobs with our label but no row are handled at once."""
    now = clock.now()
    for kind in Scope.objects.filter(pk=scope_id).values_list("kind", flat=True):
        if kind == Scope.Kind.PERSISTENT_RESOURCE:
            observe_resources(scope_id, now=now)
        elif (listed := observe_jobs(scope_id, now=now)) is not None:
            unmatched.match_listed(scope_id, listed, ports(clock))


def advance(job_id: uuid.UUID | str, *, clock: Clock) -> None:
    """Take the next step of a job: submit it, or once Vertex AI has it, send a pending cancellation or deletion."""
    take_step(job_id, ports(clock))


def take_step(job_id: uuid.UUID | str, ports: Ports) -> None:
    """Claim a due job and take its next step; do nothing if it is not due or another worker has claimed it.

    A fault in the step is recorded on the job, and the next try is delayed with backoff. If the database does not
    answer or accepts no writes, raise `django.db.Error`; the claim then expires.
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
        if is_outage(error):  # a server that was demoted to a standby
            raise
        logger.exception("a step of a job failed: %s", job.pk)
        ports.store.apply(job, step_failed(error))


def step_for(job: Job) -> Step | None:
    """Return the next step of a job: submission, a pending deletion or cancellation, or a look-up; None if none."""
    if job.state in {JobState.APPROVED, JobState.SUBMITTING}:
        return submit
    if job.deletion_requested_at is not None and job.deleted_at is None:
        return send_delete
    if job.cancel_requested_at is not None and job.remote_name and not job.is_finished:
        return send_cancel
    return duplicates.check if job.may_have_duplicates else None


def nothing_to_do(job: Job, now: datetime) -> Change:
    """Release the job without a further step, unless one was requested meanwhile."""
    return Change(columns={"due_at": next_step_at(job, now)}, releases=True)


def step_failed(error: Exception) -> Decide:
    """Record that a step failed because of a fault in Trainboard, and schedule another try."""

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
    """Request the cancellation of a job and stop further attempts of its request; see `submission.cancel`."""
    check_is_ours(job)
    with transaction.atomic():
        stopped = fallbacks.stop_attempts(job, by=by, now=clock.now())
        return request_cancel(job, by=by, store=DatabaseStore(clock)) or stopped


def ports(clock: Clock) -> Ports:
    """Return the database and Vertex AI as configured in the settings."""
    return Ports(DatabaseStore(clock), VertexRemote(clock), clock, _doubts)
