"""Actions of leads on the channels of their team: add, change, pause, test, rotate a secret, delete, send again."""

import hashlib
import ipaddress
from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from jobs import outbox
from jobs.errors import NotPermitted
from jobs.messages import kinds, webhook
from jobs.messages.allowed_addresses import NotReachable, check_url, is_loopback, is_public
from jobs.messages.retries import GIVE_UP_AFTER
from jobs.messages.route import queue_for
from jobs.models import Channel, Delivery, Digest, Message, Team, Via
from jobs.people.audit import HIDDEN, record_act
from jobs.permissions import is_lead

MAX_CHANNELS = 20
MAX_SENT_AGAIN = 500
State = Delivery.State


class ChannelNotUsable(ValueError):
    """The values of a channel are invalid; `field` is the name of the column, the message is for people."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


def create_channel(
    team: Team,
    *,
    by: User,
    now: datetime,
    via: str,
    name: str,
    address: str,
    kinds_wanted: Collection[str],
    digest: str,
) -> Channel:
    """Add a channel; a webhook gets a new secret. Raise NotPermitted or ChannelNotUsable."""
    check_is_lead(team, by)
    if via not in Via.values or via == Via.BROWSER:
        raise ChannelNotUsable("via", _("This kind of channel does not exist."))
    columns = _content(via, name, address, kinds_wanted, digest)
    secret = webhook.new_secret() if via == Via.WEBHOOK else ""
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)  # two leads at once cannot exceed the limit
        if Channel.objects.filter(team=team).count() >= MAX_CHANNELS:
            raise ChannelNotUsable(
                "name", _("%(team)s has %(limit)s channels; delete one first.") % {"team": team, "limit": MAX_CHANNELS}
            )
        try:
            with transaction.atomic():
                return Channel.objects.create(
                    team=team, via=via, secret=secret, created_by=by, created_at=now, **columns
                )
        except IntegrityError:
            raise _taken(team) from None


def change_channel(
    channel: Channel, *, by: User, name: str, address: str, kinds_wanted: Collection[str], digest: str
) -> None:
    """Change a channel; an empty `address` keeps the current one. Raise NotPermitted or ChannelNotUsable."""
    check_is_lead(channel.team, by)
    columns = _content(channel.via, name, address or channel.address, kinds_wanted, digest)
    if address and address != channel.address:
        columns |= {"held_until": None, "failures": 0, "last_error": ""}
    try:
        with transaction.atomic():
            _save(channel, columns)
    except IntegrityError:
        raise _taken(channel.team) from None


def set_paused(channel: Channel, *, by: User, now: datetime, is_paused: bool) -> None:
    """Pause a channel or resume it at once; while it is paused, no message is queued for it."""
    check_is_lead(channel.team, by)
    ready = {} if is_paused else {"held_until": None, "failures": 0}
    _save(channel, {"paused_at": now if is_paused else None, **ready})


def _save(channel: Channel, columns: dict[str, Any]) -> None:
    """Save these columns only; the audit log records what is saved."""
    for name, value in columns.items():
        setattr(channel, name, value)
    channel.save(update_fields=list(columns))


def rotate_secret(channel: Channel, *, by: User, now: datetime, fingerprint: str) -> str | None:
    """Give a webhook a new secret and return it; the old one signs too for a day.

    Return None and change nothing unless `fingerprint` is that of the current secret, as somebody else was first then.
    """
    check_is_lead(channel.team, by)
    if channel.via != Via.WEBHOOK or fingerprint != fingerprint_of(channel):
        return None
    secret = webhook.new_secret()
    columns = {"secret": secret, "old_secret": channel.secret, "old_secret_until": now + webhook.OVERLAP}
    with transaction.atomic():
        if not Channel.objects.filter(pk=channel.pk, secret=channel.secret).update(**columns):
            return None
        record_act("secret", HIDDEN, channel)
    return secret


def fingerprint_of(channel: Channel) -> str:
    """Return a digest that distinguishes two secrets and reveals neither."""
    return hashlib.sha256(channel.secret.encode()).hexdigest()[:16]


def delete_channel(channel: Channel, *, by: User) -> None:
    """Delete a channel and its waiting deliveries."""
    check_is_lead(channel.team, by)
    Channel.objects.filter(pk=channel.pk).delete()


def send_test(channel: Channel, *, by: User, now: datetime) -> bool:
    """Queue a test message, even for a channel that has just failed; return False while an earlier one waits."""
    check_is_lead(channel.team, by)
    waiting = Delivery.objects.filter(channel=channel, state=State.WAITING, message__kind=Message.Kind.TEST)
    if channel.paused_at is not None or waiting.filter(failures=0).exists():
        return False
    with transaction.atomic():
        older = {"state": State.DROPPED, "ended_at": now, "last_error": "Another test was requested."}
        waiting.update(**older)
        key = f"test:{uuid4().hex}"
        outbox.announce(Message.Kind.TEST, team=channel.team, once_key=key, now=now)
        plain = Channel(pk=channel.pk, via=channel.via)  # a test is not part of a summary
        queue_for(Message.objects.filter(once_key=key), plain, now)
        Channel.objects.filter(pk=channel.pk).update(held_until=None)
        record_act("test_message", "sent", channel)
    return True


def send_again(dead: QuerySet[Delivery], team: Team, *, by: User, now: datetime) -> int:
    """Try deliveries of a team that were given up again, for as long as new ones; return how many."""
    check_is_lead(team, by)
    with transaction.atomic():
        rows = dead.filter(team=team, state=State.DEAD).order_by("pk")
        pks = list(rows.values_list("pk", flat=True)[:MAX_SENT_AGAIN])
        again = Delivery.objects.filter(pk__in=pks, state=State.DEAD)
        columns = {"state": State.WAITING, "due_at": now, "give_up_at": now + GIVE_UP_AFTER, "ended_at": None}
        count = again.update(failures=0, claim=None, claimed_until=None, **columns)
        Channel.objects.filter(deliveries__in=pks).update(held_until=None, failures=0)
        if count:
            record_act("messages_sent_again", str(count), team)
    return count


def check_is_lead(team: Team, by: User) -> None:
    """Raise NotPermitted unless the person is a lead of the team."""
    if not is_lead(by, team_id=team.pk):
        raise NotPermitted(_("Only leads of %(team)s set its channels.") % {"team": team})


def _taken(team: Team) -> ChannelNotUsable:
    return ChannelNotUsable("name", _("%(team)s already has a channel with this name.") % {"team": team})


def _content(via: str, name: str, address: str, wanted: Collection[str], digest: str) -> dict[str, Any]:
    name = " ".join(name.split())
    if not name or len(name) > 60:
        raise ChannelNotUsable("name", _("Give it a name of at most 60 characters."))
    if digest not in Digest.values:
        raise ChannelNotUsable("digest", _("Choose one of the listed summaries."))
    chosen = [kind for kind in kinds.OFFERED if kind in wanted]
    if not chosen:
        raise ChannelNotUsable("kinds", _("Choose at least one kind of message."))
    return {"name": name, "address": _address(via, address.strip()), "kinds": chosen, "digest": digest}


def _address(via: str, address: str) -> str:
    """Return the valid address; a host name is resolved and checked before each sending."""
    if via == Via.EMAIL:
        try:
            validate_email(address)
        except ValidationError:
            raise ChannelNotUsable("address", _("Write one e-mail address, such as team@example.org.")) from None
        return address
    try:
        name = check_url(address, allows_loopback=settings.MESSAGES_ALLOW_LOOPBACK)[1]
    except NotReachable as refusal:
        raise ChannelNotUsable("address", str(refusal)) from None
    if _is_ip(name) and not is_public(name) and not (settings.MESSAGES_ALLOW_LOOPBACK and is_loopback(name)):
        raise ChannelNotUsable("address", _("This is an internal address. Messages go to the internet only."))
    return address


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
