"""Saved views of the board."""

from datetime import datetime
from enum import Enum, auto

from django.contrib.auth.models import User

from jobs.models import SavedView, Team

MAX_VIEWS = 12
"""Number of views that a person may save, and of views of others that the board offers."""


class Saved(Enum):
    """How a view was saved: as a new one, in place of the view of that name, or not because of MAX_VIEWS."""

    NEW = auto()
    REPLACED = auto()
    TOO_MANY = auto()


def save_view(user: User, name: str, query: str, team: Team | None, now: datetime) -> Saved:
    """Save a view, replacing the person's view of that name.

    `query` is the query string of the board's URL. Members of `team` may open the view too.
    """
    mine = SavedView.objects.filter(owner=user)
    if not mine.filter(name=name).exists() and mine.count() >= MAX_VIEWS:
        return Saved.TOO_MANY
    content = {"query": query, "team": team}
    _, is_new = SavedView.objects.update_or_create(
        owner=user, name=name, defaults=content, create_defaults=content | {"created_at": now}
    )
    return Saved.NEW if is_new else Saved.REPLACED


def delete_view(user: User, pk: int) -> bool:
    """Delete a view of `user`; return whether there was one. The views of others are never deleted."""
    count, _ = SavedView.objects.filter(owner=user, pk=pk).delete()
    return count > 0
