"""Make the next attempt after one has ended, and cancel attempts that wait too long so that the next can follow."""

from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from jobs.clock import Clock
from jobs.isolation import take_each
from jobs.models import Fallback, FallbackAttempt
from jobs.requests.attempt_endings import WAIT_OVER
from jobs.requests.fallbacks import can_follow, make_next_attempt
from jobs.states import WAITING
from jobs.submission.adapters import DatabaseStore
from jobs.submission.cancel import cancel_waiting

AT_ONCE = 200
"""Fallbacks handled by one sweep, oldest first. The next one finds the rest."""


def watch_fallbacks(clock: Clock) -> int:
    """Take one step of every fallback whose newest attempt has ended or waits too long. Return how many steps.

    An exception in one does not delay the others; see `isolation.take_each`.
    """
    now = clock.now()
    waiting = set(_waiting(now))

    def step(pk: UUID) -> bool:
        return _end_wait(pk, clock) if pk in waiting else make_next_attempt(pk, now=now)

    return take_each([*_ended(), *waiting], step, what="further attempts")


def open_fallbacks() -> QuerySet[Fallback]:
    """Select the plans that may need a step."""
    return Fallback.objects.filter(ended_at=None)


def _ended() -> list[UUID]:
    """Return the open fallbacks all of whose attempts have ended."""
    live = FallbackAttempt.objects.filter(fallback=OuterRef("pk"), job__ended_at=None)
    rows = open_fallbacks().exclude(Exists(live))
    return list(rows.order_by("began_at", "id").values_list("pk", flat=True)[:AT_ONCE])


def _waiting(now: datetime) -> list[UUID]:
    """Return the open fallbacks whose newest attempt has waited for its first run as long as the plan allows.

    A job that Vertex AI has counts as waiting until it was last seen: while the site was down it may have begun to run.
    """
    rows = FallbackAttempt.objects.filter(
        fallback__ended_at=None,
        job__started_at=None,
        job__cancel_requested_at=None,
        job__state__in=WAITING,
    ).order_by("job__approved_at")
    found = rows.values_list("fallback", "job__approved_at", "fallback__wait_hours", "job__last_seen__at")
    over = (
        pk
        for pk, since, hours, seen_at in found
        if since and hours and min(seen_at or now, now) - since >= timedelta(hours=hours)
    )
    return list(islice(over, AT_ONCE))


def _end_wait(pk: UUID, clock: Clock) -> bool:
    """Cancel the waiting attempt if another one can follow now. Otherwise it continues to wait."""
    now = clock.now()
    if not can_follow(pk, now=now):
        return False
    attempt = FallbackAttempt.objects.filter(fallback=pk).select_related("job", "fallback").latest("number")
    hours = attempt.fallback.wait_hours
    message = f"The job has waited {hours} h for its first run. Trainboard cancels it, and the next attempt follows."
    return cancel_waiting(attempt.job, message=message, reason=WAIT_OVER, store=DatabaseStore(clock))
