"""Delete persistent resources whose lifetime has ended, and warn before: Vertex AI deletes none by itself."""

from datetime import datetime, timedelta
from functools import cache

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet

from jobs import outbox
from jobs.budgets import lock_teams
from jobs.isolation import take_each
from jobs.models import Message, PersistentResource, ResourceChange
from jobs.texts import translatable as _

AGAIN = timedelta(minutes=10)
"""A deletion that Vertex AI has accepted is asked for again if the resource is still listed after this time."""
WARNED_BEFORE = timedelta(days=1)
"""How long before its end people are warned; at most a quarter of the lifetime."""
AT_ONCE = 100


def ending_soon(now: datetime) -> QuerySet[ResourceChange]:
    """Select the changes that gave a resource a lifetime that ends soon, also if a later one extended it."""
    soon = ResourceChange.objects.filter(deletes_at__gt=now, deletes_at__lte=now + WARNED_BEFORE)
    return soon.filter(outcome__in=ResourceChange.MADE).order_by("deletes_at", "pk")


def warn_of_ends(now: datetime) -> int:
    """Write a message for each resource whose lifetime ends soon. Return how many are new.

    A lifetime that was extended meanwhile gets a message of its own end.
    """
    return take_each(list(ending_soon(now)[:AT_ONCE]), lambda row: _warn(row, now), what="the end of the lifetime of")


def _warn(row: ResourceChange, now: datetime) -> bool:
    """Write the message, once. Return False if the resource lives longer, is gone, or its end is not near yet."""
    place = {"project": row.project, "region": row.region, "resource_id": row.resource_id}
    assert row.deletes_at is not None
    notice = min(WARNED_BEFORE, timedelta(hours=row.lifetime_hours or 0) / 4)
    if row.deletes_at - now > notice or ResourceChange.lifetime_ends(**place) != row.deletes_at:
        return False
    key = f"lifetime:{row.pk}"
    if not PersistentResource.objects.existing().filter(**place).exists() or Message.objects.filter(once_key=key):
        return False
    hours = max(1, round((row.deletes_at - now) / timedelta(hours=1)))
    words = {"name": row.resource_id, "region": row.region, "hours": hours}
    text = _(
        "The lifetime of %(name)s in %(region)s ends in %(hours)s h. Trainboard then deletes its machines.", **words
    )
    following = _("Whoever still needs it asks for a longer lifetime on the page Resources; others save its cost.")
    detail = {"text": text, "path": "/persistent-resources/", "next": following}
    outbox.announce(Message.Kind.RESOURCE_ENDS, team=row.team, once_key=key, now=now, detail=detail)
    return True


@cache
def _given() -> QuerySet[ResourceChange]:
    """Select the changes that gave an existing resource its lifetime. It is built once, because sweeps ask often."""
    place = {name: OuterRef(name) for name in ("project", "region", "resource_id")}
    alive = Exists(PersistentResource.objects.existing().filter(**place))
    return ResourceChange.objects.filter(alive, outcome__in=ResourceChange.MADE).order_by("deletes_at", "pk")


def ended_lifetimes(now: datetime) -> QuerySet[ResourceChange]:
    """Select the changes that gave an existing resource a lifetime that is over, also if a later one extended it."""
    return _given().filter(deletes_at__lte=now)


def end_lifetimes(now: datetime) -> int:
    """Request the deletion of resources whose lifetime has ended, in the name of whoever asked for them last.

    Return how many. The deletion needs no approval.
    """
    place = {name: OuterRef(name) for name in ("project", "region", "resource_id")}
    later = ResourceChange.objects.filter(
        **place, asked_at__gte=OuterRef("asked_at"), outcome__in=ResourceChange.MADE, deletes_at__gt=now
    )
    rows = ended_lifetimes(now).exclude(Exists(later))  # those that were extended must not take the places of others
    ended = {(row.project, row.region, row.resource_id): row for row in rows}
    return take_each(list(ended.values())[:AT_ONCE], lambda row: _delete(row, now), what="the end of the lifetime of")


def _delete(last: ResourceChange, now: datetime) -> bool:
    """Record the deletion. Return False if the lifetime was extended, or another change is open or has just ended.

    A change that waits for an approval ends: otherwise whoever asks for one would keep the machines without any.
    """
    place = {"project": last.project, "region": last.region, "resource_id": last.resource_id}
    ends = ResourceChange.lifetime_ends(**place)
    if ends is None or ends > now:
        return False
    if ResourceChange.objects.filter(**place, action="delete", asked_at__gt=now - AGAIN).exists():
        return False
    try:
        with transaction.atomic():
            lock_teams([last.team_id])  # as whoever approves a change
            for waiting in ResourceChange.objects.filter(**place, ended_at=None, allowed_at=None, due_at=None):
                waiting.outcome, waiting.ended_at = ResourceChange.Outcome.REFUSED, now
                waiting.message = "The lifetime of the resource ended before anybody approved it."
                waiting.save(update_fields=["outcome", "ended_at", "message"])
            ResourceChange.objects.create(
                **place, team=last.team, action=ResourceChange.Action.DELETE, asked_by=last.asked_by, asked_at=now,
                due_at=now, allowed_at=now,
            )  # fmt: skip
    except IntegrityError:
        return False
    return True
