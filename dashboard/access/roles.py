"""Who may do what: roles of a team's members, and the table that turns a role into rights."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet, Value
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from jobs.models import Membership, Prepared, Role, Team, given

RANK: dict[str, int] = {Role.VIEWER: 1, Role.ENGINEER: 2, Role.APPROVER: 3, Role.LEAD: 4}
LEAST_ROLE: dict[str, str] = {
    "see": Role.VIEWER,
    "request": Role.ENGINEER,
    "cancel": Role.ENGINEER,
    "approve": Role.APPROVER,
    "set_policy": Role.LEAD,
}
"""From each verb to the lowest role that may do it."""


class Request(HttpRequest):
    """A request of somebody who is signed in, as every view behind LoginRequiredMiddleware gets it."""

    user: User
    htmx: HtmxDetails


def roles_from(verb: str) -> list[str]:
    """Return the roles that may do `verb`; raise KeyError for a verb that is not in the table."""
    least = RANK[LEAST_ROLE[verb]]
    return [role for role, rank in RANK.items() if rank >= least]


def teams_where(user: User, verb: str) -> QuerySet[Team]:
    """Return the teams in which `user` may do `verb`, by name, with their policies.

    A superuser may do everything everywhere.
    """
    return _teams() if user.is_superuser else _teams_of_member(user.pk, verb)


def _teams() -> QuerySet[Team]:
    return Team.objects.select_related("policy").order_by("name")


def _teams_of_member(user: int | Value, verb: str) -> QuerySet[Team]:
    return _teams().filter(memberships__user=user, memberships__role__in=roles_from(verb))


def teams_to_request(user: User) -> list[Team]:
    """Return the teams in which `user` may request jobs: `teams_where`, for a page that asks at every keystroke."""
    return list(teams_where(user, "request")) if user.is_superuser else _TO_REQUEST.rows(user=user.pk)


_TO_REQUEST = Prepared(lambda: _teams_of_member(given("user"), "request"))


def teams_of(user: User) -> QuerySet[Team]:
    """Return the teams whose jobs `user` may see, by name."""
    return teams_where(user, "see")


def can(user: User | AnonymousUser, verb: str, team: Team) -> bool:
    """Tell whether `user` may do `verb` in `team`; one query at most."""
    if not isinstance(user, User) or not user.is_active:
        return False
    if user.is_superuser:
        return True
    return Membership.objects.filter(user=user, team=team, role__in=roles_from(verb)).exists()
