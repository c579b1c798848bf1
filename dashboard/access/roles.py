"""Roles of a team's members, and the rights of each role."""

from collections.abc import Callable
from typing import TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from jobs.models import Membership, Role, Team
from jobs.requests.allowed_resources import projects_of

RANK: dict[str, int] = {Role.VIEWER: 1, Role.ENGINEER: 2, Role.APPROVER: 3, Role.LEAD: 4}
MIN_ROLE: dict[str, str] = {
    "see": Role.VIEWER,
    "request": Role.ENGINEER,
    "cancel": Role.ENGINEER,
    "approve": Role.APPROVER,
    "decide": Role.ENGINEER,
    "set_policy": Role.LEAD,
    "manage": Role.LEAD,
}
"""The lowest role that may do each verb.

An engineer may "decide" as the deputy of an approver who is away; `jobs.requests` checks that.
"""


Kept = TypeVar("Kept")


class Request(HttpRequest):
    """A request of a signed-in user, which every view behind LoginRequiredMiddleware receives."""

    user: User
    htmx: HtmxDetails


def roles_from(verb: str) -> list[str]:
    """Return the roles that may do `verb`; raise KeyError for a verb that is not in the table."""
    least = RANK[MIN_ROLE[verb]]
    return [role for role, rank in RANK.items() if rank >= least]


def _kept(user: User, name: str, load: Callable[[], Kept]) -> Kept:
    """Return the result of `load`, cached on the user.

    Each request has its own instance of the user, so this makes one query per request.
    """
    if not hasattr(user, name):
        setattr(user, name, load())
    found: Kept = getattr(user, name)
    return found


def memberships_of(user: User) -> list[Membership]:
    """Return the person's memberships with their teams, by team. One query per request."""

    def load() -> list[Membership]:
        return list(Membership.objects.filter(user=user.pk).select_related("team").order_by("team__name"))

    return _kept(user, "all_memberships", load)


def teams_where(user: User, verb: str) -> list[Team]:
    """Return the teams in which `user` may do `verb`, by name. A superuser may do it in all."""
    if user.is_superuser:
        return list(_kept(user, "all_teams", lambda: list(Team.objects.order_by("name"))))
    roles = roles_from(verb)
    return [membership.team for membership in memberships_of(user) if membership.role in roles]


def teams_of(user: User) -> list[Team]:
    """Return the teams whose jobs `user` may see, by name."""
    return teams_where(user, "see")


def teams_by_project(user: User, verb: str = "see") -> dict[str, list[Team]]:
    """Return {project: teams that may use it and in which `user` may do `verb`}.

    Teams whose default project it is come first. One query per request.
    """
    projects = _kept(user, "all_projects", lambda: projects_of(teams_of(user)))
    teams = teams_where(user, verb)
    named = {project for team in teams for project in projects[team.pk]}
    return {
        project: sorted(
            (each for each in teams if project in projects[each.pk]), key=lambda each: each.project != project
        )
        for project in sorted(named)
    }


def teams_by_own_project(user: User, verb: str) -> dict[str, list[Team]]:
    """Return {project: teams in which `user` may do `verb` and which own external objects in the project}.

    `Team.objects.owning` defines the owner. This needs one more query if a team has additional projects.
    """
    found = teams_by_project(user, verb)
    own = {team.project for team in teams_where(user, verb)}
    further = found.keys() - own
    others = set(Team.objects.filter(project__in=further).values_list("project", flat=True)) if further else set()
    return {
        project: [team for team in teams if project not in own or team.project == project]
        for project, teams in found.items()
        if project not in others
    }


def in_teams_of(user: User, column: str = "team", verb: str = "see") -> Q:
    """Return a condition for rows of teams in which `user` may do `verb`.

    It lists the ids of the teams, so that a database can use an index. With a subquery it would sort all rows.
    """
    return Q() if user.is_superuser else Q(**{f"{column}__in": [team.pk for team in teams_where(user, verb)]})


def role_in(user: User, team: Team) -> str | None:
    """Return the role of a person in a team, None for a stranger. A superuser is a lead in every team."""
    if user.is_superuser:
        return Role.LEAD
    return next((each.role for each in memberships_of(user) if each.team_id == team.pk), None)


def can(user: User | AnonymousUser, verb: str, team: Team) -> bool:
    """Return whether `user` may do `verb` in `team`."""
    if not isinstance(user, User) or not user.is_active:
        return False
    roles = roles_from(verb)
    return user.is_superuser or any(
        membership.team_id == team.pk and membership.role in roles for membership in memberships_of(user)
    )
