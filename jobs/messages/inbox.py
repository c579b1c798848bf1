"""Actions of a person on messages: mark them as read, and choose which ones to get."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q

from jobs.messages import kinds
from jobs.models import Delivery, Digest, Message, MessagePreference, Via

MAX_MARKED = 5_000
"""Messages marked as read at once."""
ROUTINE = (Message.Kind.APPROVED, Message.Kind.STARTED, Message.Kind.DONE)
"""Kinds that need no action. Those of all jobs of a sweep belong together."""


def topic_of(message: Message) -> str:
    """Return what a message is about; messages with the same topic are listed as one. Its job is loaded.

    A topic is a job, or the routine messages of a sweep, so that a failure in a sweep stays on its own line. A message
    that is about no job is a topic by itself.
    """
    if message.job is None:
        return f"message {message.pk}"
    if message.job.sweep is not None and message.kind in ROUTINE:
        return f"sweep {message.job.sweep}"
    return f"job {message.job_id}"


def mark_topic_read(user: User, message: Message, now: datetime) -> int:
    """Mark a message of a person in the browser, and earlier ones with its topic, as read; return how many were not."""
    if message.job is None:
        same = Q(message=message.pk)
    elif message.job.sweep is None:
        same = Q(job=message.job_id)
    elif message.kind in ROUTINE:
        same = Q(job__sweep=message.job.sweep, message__kind__in=ROUTINE)
    else:
        same = Q(job=message.job_id) & ~Q(message__kind__in=ROUTINE)
    unread = Delivery.objects.filter(person=user, via=Via.BROWSER, read_at=None)
    return unread.filter(same, message__lte=message.pk).update(read_at=now)


def mark_all_read(user: User, now: datetime) -> int:
    """Mark all messages of a person in the browser as read, up to MAX_MARKED; return how many were unread."""
    unread = Delivery.objects.filter(person=user, via=Via.BROWSER, read_at=None)
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
