"""Views of the board that people keep under a name."""

from datetime import datetime

from django.contrib.auth.models import User

from jobs.models import SavedView, Team

MAX_VIEWS = 12
"""Views that a person may keep, and that the board offers."""


def save_view(user: User, name: str, query: str, team: Team | None, now: datetime) -> bool:
    """Keep a view under a name, in place of the person's own of that name; False where they have MAX_VIEWS already.

    `query` is that of the board's address; `team` may open it too.
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
    """Forget a view of the person's own; nothing happens to those of others."""
    SavedView.objects.filter(owner=user, pk=pk).delete()
