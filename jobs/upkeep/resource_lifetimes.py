"""Delete persistent resources whose lifetime has ended: Vertex AI deletes none by itself."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from jobs.isolation import take_each
from jobs.models import PersistentResource, ResourceChange

AGAIN = timedelta(minutes=10)
"""A deletion that Vertex AI has accepted is asked for again if the resource is still listed after this time."""
AT_ONCE = 100


def end_lifetimes(now: datetime) -> int:
    """Request the deletion of resources whose lifetime has ended, in the name of whoever asked for them last.

    Return how many. The deletion needs no approval.
    """
    changes = ResourceChange.objects.filter(deletes_at__lte=now, outcome=ResourceChange.Outcome.ACCEPTED)
    ended = {(row.project, row.region, row.resource_id): row for row in changes.order_by("deletes_at", "pk")}
    alive = PersistentResource.objects.existing().filter(resource_id__in={key[2] for key in ended})
    listed = [key for key in alive.values_list("project", "region", "resource_id") if key in ended]
    rows = [ended[key] for key in listed[:AT_ONCE]]
    return take_each(rows, lambda row: _delete(row, now), what="the end of the lifetime of")


def _delete(last: ResourceChange, now: datetime) -> bool:
    """Record the deletion. Return False if the lifetime was extended, or another change is open or has just ended."""
    place = {"project": last.project, "region": last.region, "resource_id": last.resource_id}
    ends = ResourceChange.lifetime_ends(**place)
    if ends is None or ends > now:
        return False
    if ResourceChange.objects.filter(**place, action="delete", asked_at__gt=now - AGAIN).exists():
        return False
    try:
        with transaction.atomic():
            ResourceChange.objects.create(
                **place, team=last.team, action=ResourceChange.Action.DELETE, asked_by=last.asked_by, asked_at=now,
                due_at=now, allowed_at=now,
            )  # fmt: skip
    except IntegrityError:
        return False
    return True
