"""Views of the board: a person's own and those shared by their teams."""

from django.contrib.auth.models import User
from django.db.models import Q

from dashboard.access import teams_of
from jobs.models import SavedView
from jobs.requests import MAX_VIEWS


def list_saved_views(user: User) -> list[SavedView]:
    """Return the views that `user` may open, their own first. One query."""
    teams = [team.pk for team in teams_of(user)]
    views = SavedView.objects.filter(Q(owner=user) | Q(team__in=teams))
    return sorted(views.order_by("name", "pk")[: 4 * MAX_VIEWS], key=lambda view: view.owner_id != user.pk)[:MAX_VIEWS]
