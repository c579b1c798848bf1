"""Loaders of what leads set for their teams: 404 for people outside a team, 403 for members who do not lead it."""

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from dashboard.access.roles import Request, can, in_teams_of
from jobs.models import Channel, Team

REFUSAL = _("Your role in this team does not set its channels; a lead does.")


def channel_for(request: Request, pk: int) -> Channel:
    """Return a channel of a team that the person leads."""
    rows = Channel.objects.filter(in_teams_of(request.user)).select_related("team", "created_by")
    channel = get_object_or_404(rows, pk=pk)
    _check(request, channel.team)
    return channel


def team_to_lead(request: Request, pk: int) -> Team:
    """Return a team that the person leads."""
    team = get_object_or_404(Team.objects.filter(in_teams_of(request.user, "pk")), pk=pk)
    _check(request, team)
    return team


def _check(request: Request, team: Team) -> None:
    if not can(request.user, "set_policy", team):
        raise PermissionDenied(REFUSAL)
