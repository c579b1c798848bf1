"""Due deliveries and claims on them: one worker at a time sends a delivery or uses a channel.

A delivery waits while an earlier one about the same job waits for the same person or channel, so that nobody reads
about an end before the start. Summaries do not wait, because they list their messages in order.
"""

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from jobs.messages.retries import MAX_RETRY_AFTER
from jobs.models import Channel, Delivery

LEASE = timedelta(seconds=60)
"""Longer than sending one message may take."""
CHANNEL_LEASE = timedelta(minutes=3)
"""Longer than one task sends to a channel."""
MAX_DESTINATIONS = 100
MAX_IN_ONE = 200
"""Messages in one summary; the next one has the rest."""
MAX_GIVEN_UP = 1_000
EMAIL = "email"
"""The destination for all e-mail to people, which goes to one mail server."""
SLACK = timedelta(minutes=1)
MAX_FAILURE_PAUSE = MAX_RETRY_AFTER * 1.1 + SLACK
"""The longest pause after a failure, with jitter."""
MAX_DIGEST_PAUSE = timedelta(hours=26)
"""The longest wait for a daily summary, on a day of 25 hours."""
State = Delivery.State


def due_destinations(now: datetime) -> list[str]:
    """Return the destinations with due messages: EMAIL, and keys of channels that are not claimed.

    Three queries, one if nothing is due.
    """
    if not Delivery.objects.filter(state=State.WAITING, due_at__lte=now).exists():
        return []
    email = [EMAIL] if _due(now).filter(person__isnull=False).exists() else []
    waiting = Delivery.objects.filter(channel=OuterRef("pk"), state=State.WAITING, due_at__lte=now)
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    held = Q(held_until__isnull=False, held_until__gt=now)
    channels = Channel.objects.filter(free, Exists(waiting), paused_at=None).exclude(held)
    keys = channels.order_by(Coalesce("last_sent_at", "created_at"), "pk").values_list("pk", flat=True)
    return [*email, *map(str, keys[:MAX_DESTINATIONS])]


def claim_channel(pk: int, now: datetime) -> Channel | None:
    """Claim a channel for sending; return None if it is gone, paused, held or claimed."""
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    ready = Channel.objects.filter(free, Q(held_until=None) | Q(held_until__lte=now), pk=pk, paused_at=None)
    until = now + CHANNEL_LEASE
    return Channel.objects.filter(pk=pk).first() if ready.update(claimed_until=until) else None


def release_channel(channel: Channel) -> None:
    """Release the claim on a channel, unless another worker has claimed it."""
    Channel.objects.filter(pk=channel.pk, claimed_until=channel.claimed_until).update(claimed_until=None)


def claim_next(now: datetime, channel: Channel | None) -> list[Delivery]:
    """Claim the delivery that is due first for a channel, or of the e-mail to people; return [] if there is none.

    For a summary, claim all that are due for the same receiver, oldest first.
    """
    to = {"channel": channel} if channel is not None else {"person__isnull": False}
    # An earlier delivery about the same job to the same receiver goes first.
    receiver = "channel" if channel is not None else "person"
    same = {receiver: OuterRef(receiver), "job": OuterRef("job"), "message__lt": OuterRef("message")}
    earlier = Delivery.objects.filter(state=State.WAITING, is_digest=False, **same)
    due = _due(now).filter(**to).exclude(Exists(earlier))
    for first in due.order_by("due_at", "pk")[:5]:  # another worker may claim one between the two statements
        token = uuid.uuid4()
        pks = [first.pk]
        if first.is_digest:
            of_receiver = {"person": first.person_id, "channel": first.channel_id, "via": first.via}
            together = _due(now).filter(**of_receiver, is_digest=True).order_by("message", "pk")
            pks = list(together.values_list("pk", flat=True)[:MAX_IN_ONE])
        rows = Delivery.objects.filter(pk__in=pks)
        free = rows.filter(Q(claimed_until=None) | Q(claimed_until__lte=now), state=State.WAITING)
        if free.update(claim=token, claimed_until=now + LEASE):
            about = ("message__job__owner", "message__job__team", "message__event", "message__team", "person__profile")
            taken = Delivery.objects.filter(pk__in=pks, claim=token).select_related(*about)
            return list(taken.order_by("message", "pk"))
    return []


def _due(now: datetime) -> QuerySet[Delivery]:
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    return Delivery.objects.filter(free, state=State.WAITING, due_at__lte=now)


def times_ahead(now: datetime) -> Iterator[tuple[type[Model], Q, dict[str, datetime]]]:
    """Yield times further ahead than any that is written, and the columns that repair them.

    They were written while the database's clock was ahead. A claim is only shortened, as in `jobs.upkeep.repair`.
    """
    waiting, failed = Q(state=State.WAITING), now + MAX_FAILURE_PAUSE
    single = Q(is_digest=False) & (Q(due_at__gt=failed) | Q(due_at__gt=now + SLACK, failures=0))
    yield Delivery, waiting & (single | Q(due_at__gt=now + MAX_DIGEST_PAUSE)), {"due_at": now}
    held = Q(claim__isnull=False, claimed_until__gt=now + LEASE + SLACK)
    yield Delivery, waiting & held, {"claimed_until": now + LEASE}
    yield Channel, Q(held_until__gt=failed), {"held_until": now}
    yield Channel, Q(claimed_until__gt=now + CHANNEL_LEASE + SLACK), {"claimed_until": now + CHANNEL_LEASE}


def finish(rows: Sequence[Delivery], state: str, now: datetime, words: str = "") -> None:
    """Mark claimed deliveries as sent, dropped or given up, with `words` as the reason if there is one."""
    for row in rows:
        values = {"state": state, "ended_at": now, "claim": None, "claimed_until": None, "last_error": words[:300]}
        Delivery.objects.filter(pk=row.pk, claim=row.claim).update(**values)


def postpone(rows: Sequence[Delivery], due_at: datetime, words: str) -> None:
    """Release claimed deliveries after a failure."""
    for row in rows:
        values = {"due_at": due_at, "failures": row.failures + 1, "last_error": words[:300]}
        Delivery.objects.filter(pk=row.pk, claim=row.claim).update(claim=None, claimed_until=None, **values)


def give_up(channel: Channel, now: datetime, words: str) -> int:
    """Give up the deliveries of a failing channel that are past their time limit; return how many."""
    late = Delivery.objects.filter(channel=channel, state=State.WAITING, give_up_at__lte=now, claim=None)
    pks = list(late.order_by("due_at", "pk").values_list("pk", flat=True)[:MAX_GIVEN_UP])
    rows = Delivery.objects.filter(pk__in=pks, state=State.WAITING, claim=None)
    values = {"state": State.DEAD, "ended_at": now, "last_error": words[:300]}
    return rows.update(**values)
