"""Decide who gets a message, and write a delivery for each person and channel."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from jobs.isolation import take_portions
from jobs.messages import kinds
from jobs.messages.retries import GIVE_UP_AFTER
from jobs.models import Channel, Delivery, Digest, Membership, Message, MessagePreference, Role, Via

AT_ONCE = 500
"""Messages routed by one sweep; the next one finds the rest."""
MAX_AGE = timedelta(days=2)
"""Older events, such as an end that was observed late, are shown in the browser only."""
DIGEST_HOUR = 7
"""UTC; the daily summary arrives before work begins in Europe, and at night in America."""


@dataclass(frozen=True, slots=True)
class _People:
    """The active members of the teams with their preferences, and the channels that are not paused.

    `admins` are loaded only if a message concerns them.
    """

    members: dict[int, list[Membership]]
    admins: list[User]
    preferences: dict[int, MessagePreference]
    channels: dict[int, list[Channel]]


def route(now: datetime) -> int:
    """Write the deliveries of messages that have none yet; return how many messages. A repetition adds nothing.

    A message whose deliveries cannot be written does not delay the others.
    """
    keys = list(unrouted().order_by("id").values_list("pk", flat=True)[:AT_ONCE])
    return take_portions(keys, lambda portion: _route(portion, now), what="messages")


def unrouted() -> QuerySet[Message]:
    """Select the messages whose deliveries are not written yet."""
    return Message.objects.filter(routed_at=None)


def _route(keys: Sequence[int], now: datetime) -> int:
    with transaction.atomic():
        rows = Message.objects.select_for_update(of=("self",), skip_locked=True).filter(routed_at=None, pk__in=keys)
        messages = list(rows.select_related("job").defer("job__spec", "job__estimate").order_by("id"))
        if not messages:
            return 0
        has_changes = any(message.kind == Message.Kind.CHANGE_WAITS for message in messages)
        people = _people({message.team_id for message in messages}, with_admins=has_changes)
        deliveries = [delivery for message in messages for delivery in _deliveries(message, people, now)]
        Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
        Message.objects.filter(pk__in=[message.pk for message in messages]).update(routed_at=now)
    return len(messages)


def _people(teams: set[int], *, with_admins: bool) -> _People:
    members, channels = defaultdict(list), defaultdict(list)
    rows = Membership.objects.filter(team__in=teams, user__is_active=True).select_related("user").order_by("pk")
    for row in rows:
        members[row.team_id].append(row)
    for channel in Channel.objects.filter(team__in=teams, paused_at=None).order_by("pk"):
        channels[channel.team_id].append(channel)
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    admins = list(found) if with_admins else []
    users = {row.user_id for rows in members.values() for row in rows} | {admin.pk for admin in admins}
    preferences = {each.user_id: each for each in MessagePreference.objects.filter(user__in=users)}
    return _People(members, admins, preferences, channels)


def _deliveries(message: Message, people: _People, now: datetime) -> Iterator[Delivery]:
    is_old = now - message.occurred_at > MAX_AGE
    members = people.members[message.team_id]
    if message.kind == Message.Kind.CHANGE_WAITS:  # site admins decide about it in every team, as leads do
        known = {member.user_id for member in members}
        others = (admin for admin in people.admins if admin.pk not in known)
        members = [*members, *(Membership(team_id=message.team_id, user=user, role=Role.LEAD) for user in others)]
    for member in members:
        preference = people.preferences.get(member.user_id)
        if not _wants(message, member, preference):
            continue
        for via in kinds.delivery_ways(message.kind, preference):
            digest = preference.digest if preference is not None and via == Via.EMAIL else ""
            if via == Via.BROWSER or (not is_old and may_be_mailed(member.user)):
                yield new_delivery(message, now, via=via, digest=digest, person=member.user)
    for channel in people.channels[message.team_id]:
        if message.kind in channel.kinds and not is_old:
            yield new_delivery(message, now, via=channel.via, digest=channel.digest, channel=channel)


def _wants(message: Message, member: Membership, preference: MessagePreference | None) -> bool:
    """Return whether a member wants a message; nobody gets a message about their own actions."""
    if message.kind not in kinds.ABOUT or (message.actor_id == member.user_id and message.actor_id is not None):
        return False
    only = message.detail.get("only")
    if only and not member.user.is_superuser and (only == "admins" or member.role != Role.LEAD):
        return False
    owner = message.job.owner_id if message.job is not None else message.detail.get("person")
    is_owner = owner == member.user_id
    if kinds.concerns(message.kind, role=member.role, is_owner=is_owner):
        return True
    if is_owner or preference is None or not preference.about_others:
        return False
    return kinds.ABOUT[message.kind].is_of_job


def may_be_mailed(user: User) -> bool:
    """Return whether the site sends e-mail and the person has an address."""
    return bool(settings.SENDS_EMAIL and user.email)


def new_delivery(message: Message, now: datetime, *, via: str, digest: str = "", **to: Any) -> Delivery:
    """Return an unsaved delivery to a `person` or `channel`; a delivery in the browser counts as sent at once."""
    due_at = next_digest(now, digest)
    is_shown = via == Via.BROWSER
    return Delivery(
        message=message,
        team_id=message.team_id,
        job_id=message.job_id,
        via=via,
        state=Delivery.State.SENT if is_shown else Delivery.State.WAITING,
        ended_at=now if is_shown else None,
        is_digest=bool(digest),
        created_at=now,
        due_at=due_at,
        give_up_at=due_at + GIVE_UP_AFTER,
        **to,
    )


def queue_for(messages: Iterable[Message], channel: Channel, now: datetime) -> None:
    """Write deliveries of messages to one channel, regardless of the kinds that it wants."""
    rows = [new_delivery(message, now, via=channel.via, channel=channel) for message in messages]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)


def next_digest(now: datetime, digest: str) -> datetime:
    """Return when a message of `now` is sent: at once, at the next full hour, or at the next DIGEST_HOUR."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    if digest == Digest.HOURLY:
        return hour + timedelta(hours=1)
    if digest == Digest.DAILY:
        today = hour.replace(hour=DIGEST_HOUR)
        return today if today > now else today + timedelta(days=1)
    return now
