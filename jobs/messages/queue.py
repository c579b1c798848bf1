"""Which deliveries are due, and claims on them: one worker at a time sends one, and one at a time sends to a channel.

A delivery waits while an earlier one about the same job waits for the same person or channel, so that nobody reads of
an end before the start. Summaries wait for nothing: they list their messages in order.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from jobs.models import Channel, Delivery

LEASE = timedelta(seconds=60)
"""Longer than one message may take to be sent."""
CHANNEL_LEASE = timedelta(minutes=3)
"""Longer than one task sends to a channel."""
MAX_DESTINATIONS = 100
MAX_IN_ONE = 200
"""Messages that one summary takes up; the next one has the rest."""
MAX_GIVEN_UP = 1_000
EMAIL = "email"
"""Stands for the e-mail of all people, which one mail server takes."""
State = Delivery.State


def due_destinations(now: datetime) -> list[str]:
    """Return what has messages to send: EMAIL, and keys of channels that nobody sends to; two queries."""
    email = [EMAIL] if _due(now).filter(person__isnull=False).exists() else []
    waiting = Delivery.objects.filter(channel=OuterRef("pk"), state=State.WAITING, due_at__lte=now)
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    held = Q(held_until__isnull=False, held_until__gt=now)
    channels = Channel.objects.filter(free, Exists(waiting), paused_at=None).exclude(held)
    keys = channels.order_by(Coalesce("last_sent_at", "created_at"), "pk").values_list("pk", flat=True)
    return [*email, *map(str, keys[:MAX_DESTINATIONS])]


def claim_channel(pk: int, now: datetime) -> Channel | None:
    """Take a channel for sending; None when it is gone, paused, held or taken."""
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    ready = Channel.objects.filter(free, Q(held_until=None) | Q(held_until__lte=now), pk=pk, paused_at=None)
    until = now + CHANNEL_LEASE
    return Channel.objects.filter(pk=pk).first() if ready.update(claimed_until=until) else None


def release_channel(channel: Channel) -> None:
    """Let others send to the channel, unless somebody has taken it over."""
    Channel.objects.filter(pk=channel.pk, claimed_until=channel.claimed_until).update(claimed_until=None)


def claim_next(now: datetime, channel: Channel | None) -> list[Delivery]:
    """Take the delivery that is due first for a channel, or of the e-mail to people; [] when there is none.

    Of a summary all that are due for the same receiver are taken, oldest first.
    """
    to = {"channel": channel} if channel is not None else {"person__isnull": False}
    # An earlier delivery about the same job that the same receiver still waits for goes first.
    receiver = "channel" if channel is not None else "person"
    same = {receiver: OuterRef(receiver), "job": OuterRef("job"), "message__lt": OuterRef("message")}
    earlier = Delivery.objects.filter(state=State.WAITING, is_digest=False, **same)
    due = _due(now).filter(**to).exclude(Exists(earlier))
    for first in due.order_by("due_at", "pk")[:5]:  # another worker may take one between the two statements
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


def finish(rows: Sequence[Delivery], state: str, now: datetime, words: str = "") -> None:
    """Write down that claimed deliveries were sent, dropped or given up, with `words` where that needs a reason."""
    for row in rows:
        values = {"state": state, "ended_at": now, "claim": None, "claimed_until": None, "last_error": words[:300]}
        Delivery.objects.filter(pk=row.pk, claim=row.claim).update(**values)


def postpone(rows: Sequence[Delivery], due_at: datetime, words: str) -> None:
    """Give claimed deliveries back after a failure."""
    for row in rows:
        values = {"due_at": due_at, "failures": row.failures + 1, "last_error": words[:300]}
        Delivery.objects.filter(pk=row.pk, claim=row.claim).update(claim=None, claimed_until=None, **values)


def give_up(channel: Channel, now: datetime, words: str) -> int:
    """Give up what waits for a channel that is down and would not be tried again; return how many deliveries."""
    late = Delivery.objects.filter(channel=channel, state=State.WAITING, give_up_at__lte=now, claim=None)
    pks = list(late.order_by("due_at", "pk").values_list("pk", flat=True)[:MAX_GIVEN_UP])
    rows = Delivery.objects.filter(pk__in=pks, state=State.WAITING, claim=None)
    values = {"state": State.DEAD, "ended_at": now, "last_error": words[:300]}
    return rows.update(**values)
