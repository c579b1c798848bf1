"""Claims: one worker at a time holds a row while it talks to Vertex AI. Jobs are claimed in `submission/adapters.py`.

A claim is a token with an end. The end frees rows of a worker that died; the token makes a worker that was late notice
that somebody else has taken over, so that it drops what it learned.
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
"""Longer than a step usually takes. One that takes longer is harmless: its answer is dropped and asked for again."""

JOB_LEASE = timedelta(seconds=45)
"""Of a job: longer than a whole call may take, so that a create has ended before another worker may begin."""

MAX_PAUSE = timedelta(minutes=5)


class ClaimLost(Exception):
    """Another worker has taken the row over; what was learned since is dropped."""


def claim_poll(row: type[Kind], pk: int, now: datetime) -> Kind | None:
    """Take a scope or a feed for one poll; None when it is not due or held by another worker."""
    token = uuid.uuid4()
    rows: QuerySet[Kind] = row.objects.all()
    taken = row.objects.due(now).filter(pk=pk).order_by().update(claim=token, claimed_until=now + LEASE)
    return rows.get(pk=pk) if taken else None


def claim_upkeep(name: str, now: datetime) -> Upkeep | None:
    """Take work that the site does for itself, for one run; None when it is not due or another worker does it."""
    row, _ = Upkeep.objects.get_or_create(name=name, defaults={"due_at": now})
    return claim_poll(Upkeep, row.pk, now)


def release_poll(
    row: PollTarget, *, due_at: datetime | None, answered_at: datetime | None, last_error: str = "", **columns: Any
) -> None:
    """Give a scope or feed back after a poll that went well, and set when the next one is due.

    `last_error` is what went wrong with single jobs although the whole was answered; it makes no pause longer.
    """
    columns |= {"failing_since": None, "failures": 0, "last_error": last_error, "answered_at": answered_at}
    _release(row, due_at=due_at, **columns)


def postpone_poll(row: PollTarget, *, due_at: datetime) -> None:
    """Give a scope or feed back without a poll."""
    _release(row, due_at=due_at)


def renew_poll(row: PollTarget, *, now: datetime) -> bool:
    """Hold a scope or feed for another lease; False when another worker has taken it over.

    In a transaction it also keeps others from taking it until the end.
    """
    return bool(type(row).objects.filter(pk=row.pk, claim=row.claim).update(claimed_until=now + LEASE))


def keep_poll(row: PollTarget, *, now: datetime) -> None:
    """Hold a scope or feed as `renew_poll` does; raises ClaimLost when another worker has taken it over."""
    if not renew_poll(row, now=now):
        raise ClaimLost


def release_failed(row: PollTarget, error: VertexError, *, now: datetime) -> None:
    """Give a scope or feed back after a failure; the pause is what Google asked for, else doubles.

    Our own full rate limit is no failure: the next poll is due when a call fits.
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
    """Return the row of work that the site does for itself, with its last result or error; None before the first."""
    return Upkeep.objects.filter(name=name).first()


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
