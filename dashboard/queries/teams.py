"""Teams for their settings pages: the teams of a person, the members of a team, and the resources that it may use."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Case, Count, OuterRef, Q, Subquery, When

from dashboard.access import teams_of
from jobs.models import AllowedResource, Membership, Team
from jobs.permissions import REQUESTING
from jobs.requests.one_person import InviterOf

MAX_TEAMS = 200
MAX_MEMBERS = 500


def list_teams(user: User, text: str = "") -> Sequence[Team]:
    """Return the teams of a person, or all teams for an admin, by name, annotated with `people`.

    With `text`, the name or the project must contain it.
    """
    found = (
        Team.objects.all() if user.is_superuser else Team.objects.filter(pk__in=[each.pk for each in teams_of(user)])
    )
    if text:
        found = found.filter(name__icontains=text) | found.filter(project__icontains=text)
    return list(found.annotate(people=Count("memberships")).order_by("name")[:MAX_TEAMS])


def list_members(team: Team) -> Sequence[Membership]:
    """Return the members of a team with their users, by name.

    `invited_by` is the name of whoever invited the account of a member who may request jobs, if nobody else has
    confirmed it.
    """
    inviter = User.objects.filter(pk=InviterOf(OuterRef("user")))
    known, requests = Subquery(inviter.values("username")), Q(role__in=REQUESTING)
    rows = Membership.objects.filter(team=team).annotate(invited_by=Case(When(requests, then=known), default=None))
    return list(rows.select_related("user").order_by("user__username")[:MAX_MEMBERS])


def find_member(team: Team, pk: int) -> Membership | None:
    """Return the membership of a team with this key, or None."""
    return Membership.objects.filter(team=team, pk=pk).select_related("user").first()


def list_allowed(team: Team) -> dict[str, list[AllowedResource]]:
    """Return {kind: rows that allow resources of that kind}, for every kind in order."""
    rows: dict[str, list[AllowedResource]] = {kind: [] for kind in AllowedResource.Kind.values}
    for row in AllowedResource.objects.filter(team=team).order_by("kind", "name"):
        rows[row.kind].append(row)
    return rows


def find_allowed(team: Team, pk: int) -> AllowedResource | None:
    """Return the allowed resource of a team with this key, with the team. None if there is none."""
    return AllowedResource.objects.filter(team=team, pk=pk).select_related("team").first()
