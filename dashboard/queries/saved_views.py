"""Views of the board: a person's own and those shared by their teams."""

from django.contrib.auth.models import User
from django.db.models import Case, Q, Value, When

from dashboard.access import teams_of
from jobs.models import SavedView
from jobs.requests import MAX_VIEWS


def list_saved_views(user: User) -> list[SavedView]:
    """Return all views of `user`, then at most MAX_VIEWS views that others share with their teams. One query."""
    teams = [team.pk for team in teams_of(user)]
    is_others = Case(When(owner=user, then=Value(0)), default=Value(1))
    views = SavedView.objects.filter(Q(owner=user) | Q(team__in=teams)).select_related("owner")
    found = list(views.order_by(is_others, "name", "pk")[: 2 * MAX_VIEWS])
    mine = sum(view.owner_id == user.pk for view in found)
    return found[: mine + MAX_VIEWS]
