"""Saved views of the board."""

from datetime import datetime

from django.contrib.auth.models import User

from jobs.models import SavedView, Team

MAX_VIEWS = 12
"""Number of views that a person may save, and that the board offers."""


def save_view(user: User, name: str, query: str, team: Team | None, now: datetime) -> bool:
    """Save a view, replacing the person's view of that name. Return False if they already have MAX_VIEWS views.

    `query` is the query string of the board's URL. Members of `team` may open the view too.
    """
    mine = SavedView.objects.filter(owner=user)
    if not mine.filter(name=name).exists() and mine.count() >= MAX_VIEWS:
        return False
    content = {"query": query, "team": team}
    SavedView.objects.update_or_create(
        owner=user, name=name, defaults=content, create_defaults=content | {"created_at": now}
    )
    return True


def delete_view(user: User, pk: int) -> None:
    """Delete a view of `user`. The views of others are never deleted."""
    SavedView.objects.filter(owner=user, pk=pk).delete()
