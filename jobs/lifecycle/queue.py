"""What is due, and which verb serves it. The database is the queue; Celery only makes it prompt (and `repair` sure)."""

import uuid
from datetime import datetime

from django.db.models import BooleanField, ExpressionWrapper, Q, Window
from django.db.models.functions import RowNumber

from jobs.lifecycle.sending.cancel import send_cancel
from jobs.lifecycle.sending.delete import send_delete
from jobs.lifecycle.sending.submit import submit
from jobs.lifecycle.watching.observe import observe as observe_jobs
from jobs.lifecycle.watching.pools import observe_pools
from jobs.models import Job, LogFeed, Scope, Survey
from jobs.states import JobState

AT_ONCE = 500
"""Rows handed out by one sweep; the next sweep finds the rest."""


def due_jobs(now: datetime) -> list[uuid.UUID]:
    """Jobs whose next step is due: the oldest of each team, then the second of each, and so on.

    So a team that submits a thousand jobs delays another team's first job by one, not by a thousand. Jobs that nobody
    has tried to send yet take turns with all others: one that may run unseen, or that is to be cancelled while it
    costs money, does not wait behind a crowd.
    """
    oldest_first = ["requested_at", "due_at", "pk"]
    is_new = ExpressionWrapper(Q(state=JobState.APPROVED), BooleanField())
    turn = Window(RowNumber(), partition_by=["team_id", "is_new"], order_by=oldest_first)
    due = Job.objects.due(now).annotate(is_new=is_new).annotate(turn=turn).order_by("turn", "is_new", *oldest_first)
    return list(due.values_list("pk", flat=True)[:AT_ONCE])


def due_feeds(now: datetime) -> list[int]:
    """Projects whose logs should be read, oldest first."""
    return list(LogFeed.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_surveys(now: datetime) -> list[int]:
    """Surveys that somebody asked for, oldest first."""
    return list(Survey.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def due_scopes(now: datetime) -> list[int]:
    """Scopes that should be looked at, oldest first."""
    return list(Scope.objects.due(now).values_list("pk", flat=True)[:AT_ONCE])


def observe(scope_id: int, *, now: datetime) -> None:
    """Look at one scope: at its jobs, or at its persistent resources."""
    for kind in Scope.objects.filter(pk=scope_id).values_list("kind", flat=True):
        look = observe_pools if kind == Scope.Kind.PERSISTENT_RESOURCE else observe_jobs
        look(scope_id, now=now)


def advance(job_id: uuid.UUID | str, *, now: datetime) -> None:
    """Take one job its next step: submission before Vertex AI has it, then a pending cancellation or deletion."""
    for state, deletion_requested_at in Job.objects.filter(pk=job_id).values_list("state", "deletion_requested_at"):
        if state in {JobState.APPROVED, JobState.SUBMITTING}:
            submit(job_id, now=now)
        elif deletion_requested_at is not None:
            send_delete(job_id, now=now)
        else:
            send_cancel(job_id, now=now)
