"""Deputies of a person, and the people for whom the person is a deputy."""

from datetime import datetime

from django.contrib.auth.models import User

from jobs.models import Deputy
from jobs.requests.deputies import possible_deputies

MAX_ROWS = 50
MAX_PEOPLE = 500


def list_deputies(user: User, now: datetime) -> dict[str, list[Deputy]]:
    """Return {"own": deputies of the person, "others": rows by which the person is a deputy} from today on.

    Two queries.
    """
    rows = Deputy.objects.filter(ended_at=None, last_day__gte=now.date()).order_by("first_day", "pk")
    return {
        "own": list(rows.filter(person=user).select_related("deputy")[:MAX_ROWS]),
        "others": list(rows.filter(deputy=user).select_related("person")[:MAX_ROWS]),
    }


def list_possible(user: User) -> list[User]:
    """Return the people whom the person may name as a deputy, with their names only. One query."""
    return list(possible_deputies(user).only("username", "first_name", "last_name")[:MAX_PEOPLE])
