"""Deputies of a person, and whom the person stands in for."""

from datetime import datetime

from django.contrib.auth.models import User

from jobs.models import Deputy

MAX_ROWS = 50


def list_deputies(user: User, now: datetime) -> dict[str, list[Deputy]]:
    """Return {"own", "others"}: who decides for the person from today on, and for whom the person does; two queries."""
    rows = Deputy.objects.filter(ended_at=None, last_day__gte=now.date()).order_by("first_day", "pk")
    return {
        "own": list(rows.filter(person=user).select_related("deputy")[:MAX_ROWS]),
        "others": list(rows.filter(deputy=user).select_related("person")[:MAX_ROWS]),
    }
