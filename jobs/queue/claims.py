"""Claims: one worker at a time holds a row while it calls Vertex AI. `submission/adapters.py` claims jobs.

A claim is a token with an expiry time. The expiry frees the rows of a worker that died. The token lets a late worker
notice that another one has taken over, so that it drops its results.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Q, QuerySet

from jobs.clock import backoff
from jobs.models import LogFeed, Scope, Upkeep
from jobs.models.polling import PollTarget
from jobs.queue.rate_limit import OverRateLimit
from jobs.vertex import VertexError

Kind = TypeVar("Kind", bound=PollTarget)

LEASE = timedelta(seconds=30)
"""Longer than a step usually takes. A longer step is harmless: its answer is dropped and requested again."""

JOB_LEASE = timedelta(seconds=45)
"""The lease of a job.

It is longer than a whole call may take, so that a create has ended before another worker starts.
"""

MAX_PAUSE = timedelta(minutes=5)
SWEEP = "sweep"
"""Name of the row that records completed sweeps. It is due since sweeps began, or last went on after a pause."""


class ClaimLost(Exception):
    """Another worker has claimed the row. The results since then are dropped."""


def claim_poll(row: type[Kind], pk: int, now: datetime) -> Kind | None:
    """Claim a scope or a feed for one poll. Return None if it is not due or another worker holds it."""
    token = uuid.uuid4()
    rows: QuerySet[Kind] = row.objects.all()
    taken = row.objects.due(now).filter(pk=pk).order_by().update(claim=token, claimed_until=now + LEASE)
    return rows.get(pk=pk) if taken else None


def claim_upkeep(name: str, now: datetime) -> Upkeep | None:
    """Claim an upkeep task for one run. Return None if it is not due or another worker runs it."""
    row, _ = Upkeep.objects.get_or_create(name=name, defaults={"due_at": now})
    return claim_poll(Upkeep, row.pk, now)


def release_poll(
    row: PollTarget, *, due_at: datetime | None, answered_at: datetime | None, last_error: str = "", **columns: Any
) -> None:
    """Release a scope or feed after a successful poll, and set when the next one is due.

    `last_error` describes what failed for single jobs although the poll was answered. It does not lengthen the pause.
    """
    columns |= {"failing_since": None, "failures": 0, "last_error": last_error, "answered_at": answered_at}
    _release(row, due_at=due_at, **columns)


def postpone_poll(row: PollTarget, *, due_at: datetime) -> None:
    """Release a scope or feed without a poll."""
    _release(row, due_at=due_at)


def renew_poll(row: PollTarget, *, now: datetime) -> bool:
    """Renew the claim on a scope or feed for another lease. Return False if another worker has claimed it.

    In a transaction this also prevents others from claiming it until the end.
    """
    return bool(type(row).objects.filter(pk=row.pk, claim=row.claim).update(claimed_until=now + LEASE))


def keep_poll(row: PollTarget, *, now: datetime) -> None:
    """Renew the claim as `renew_poll` does. Raise ClaimLost if another worker has claimed the row."""
    if not renew_poll(row, now=now):
        raise ClaimLost


def release_failed(row: PollTarget, error: VertexError, *, now: datetime) -> None:
    """Release a scope or feed after a failure. The pause is the one Google asked for, else it doubles.

    A full rate limit of our own is not a failure: the next poll is due when the limit allows it.
    """
    if isinstance(error, OverRateLimit):
        _release(row, due_at=now + (error.retry_after or settings.POLL_INTERVAL), last_error=str(error))
        return
    pause = error.retry_after or backoff(settings.POLL_INTERVAL, row.failures, MAX_PAUSE)
    since = row.failing_since or now
    _release(row, due_at=now + pause, failing_since=since, failures=row.failures + 1, last_error=str(error))


def _release(row: PollTarget, **columns: Any) -> None:
    type(row).objects.filter(pk=row.pk, claim=row.claim).update(claim=None, claimed_until=None, **columns)


def last_run(name: str) -> Upkeep | None:
    """Return the row of an upkeep task with its last result or error, or None before its first run."""
    return Upkeep.objects.filter(name=name).first()


def swept_since(now: datetime) -> datetime | None:
    """Return since when sweeps have run without a pause. A step of the database's clock counts as one.

    None before the first sweep, and if that time lies ahead: then the clock was set back.
    """
    row = last_run(SWEEP)
    return row.due_at if row is not None and row.due_at is not None and row.due_at <= now else None


def wake_feed(project: str, *, due_at: datetime) -> None:
    """Make sure that the project's logs are read by `due_at` at the latest."""
    feed, _ = LogFeed.objects.get_or_create(project=project, defaults={"due_at": due_at})
    _wake(feed, due_at)


def wake_scope(*, project: str, region: str, kind: str, due_at: datetime) -> Scope:
    """Make sure that the scope is polled by `due_at` at the latest."""
    scope, _ = Scope.objects.get_or_create(project=project, region=region, kind=kind, defaults={"due_at": due_at})
    _wake(scope, due_at)
    return scope


def _wake(row: PollTarget, due_at: datetime) -> None:
    if row.due_at is None or row.due_at > due_at:
        type(row).objects.filter(Q(due_at=None) | Q(due_at__gt=due_at), pk=row.pk).update(due_at=due_at)
