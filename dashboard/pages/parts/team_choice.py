"""The teams that a user may choose from in a form."""

from collections.abc import Iterable

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext_lazy as _

from dashboard.access import Request, teams_where
from jobs.models import Team

NO_TEAM = _("You may request jobs in none of your teams; a lead or an administrator can make you an engineer.")


def requesting_teams(request: Request) -> list[Team]:
    """Return the teams in which the user may request jobs, by name. Raise PermissionDenied if there are none."""
    teams = teams_where(request.user, "request")
    if not teams:
        raise PermissionDenied(NO_TEAM)
    return teams


def team_choices(teams: Iterable[Team]) -> list[tuple[str, str]]:
    """Return teams as choices of a form field."""
    return [(str(team.pk), team.name) for team in teams]
