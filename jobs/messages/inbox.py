"""Actions of a person on messages: mark them as read, and choose which ones to get."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.contrib.auth.models import User

from jobs.messages import kinds
from jobs.models import Delivery, Digest, MessagePreference, Via

MAX_MARKED = 5_000
"""Messages marked as read at once."""


def mark_read(user: User, now: datetime, pk: int | None = None) -> int:
    """Mark one message of a person in the browser as read, or all of them; return how many were unread."""
    unread = Delivery.objects.filter(person=user, via=Via.BROWSER, read_at=None)
    if pk is not None:
        return unread.filter(pk=pk).update(read_at=now)
    pks = list(unread.values_list("pk", flat=True)[:MAX_MARKED])
    return Delivery.objects.filter(pk__in=pks, read_at=None).update(read_at=now)


def preference_of(user: User) -> MessagePreference:
    """Return the preference of a person, or unsaved defaults."""
    return MessagePreference.objects.filter(user=user).first() or MessagePreference(user=user)


def set_preference(
    user: User, choices: Mapping[str, Collection[str]], *, about_others: bool, digest: str
) -> MessagePreference:
    """Save which messages a person wants: {kind: ways} for every kind that is offered."""
    chosen = {kind: [via for via in kinds.PERSONAL if via in choices.get(kind, ())] for kind in kinds.OFFERED}
    different = {kind: ways for kind, ways in chosen.items() if ways != list(kinds.ABOUT[kind].default)}
    columns = {"choices": different, "about_others": about_others, "digest": Digest(digest).value}
    row, _ = MessagePreference.objects.update_or_create(user=user, defaults=columns)
    return row
