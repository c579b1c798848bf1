"""Teams, their members and what they may use, and for admins the people of the site; deputies of a person."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Case, Count, OuterRef, Q, Subquery, When

from dashboard.access import teams_of
from jobs.models import AllowedResource, Deputy, Membership, SignInRule, Team
from jobs.permissions import REQUESTING
from jobs.requests.deputies import possible_deputies
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


PAGE = 50


def list_people(text: str, *, after: str) -> tuple[Sequence[User], str]:
    """Return a page of accounts by name, and the last name, or "" on the last page.

    With `text`, the name or the e-mail address must begin with it.
    """
    found = User.objects.select_related("profile").order_by("username")
    if text:
        found = found.filter(Q(username__istartswith=text) | Q(email__istartswith=text))
    rows = list(found.filter(username__gt=after)[: PAGE + 1] if after else found[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].username if len(rows) > PAGE else ""


def list_rules() -> Sequence[SignInRule]:
    """Return every rule with its team. jobs.people.accounts.MAX_RULES limits their number."""
    return list(SignInRule.objects.select_related("team").order_by("source", "value", "team__name"))


def find_person(pk: int) -> User | None:
    """Return the account with this key, or None."""
    return User.objects.filter(pk=pk).first()


MAX_ROWS = 50
MAX_PEOPLE = 500


def list_deputies(user: User, now: datetime) -> dict[str, list[Deputy]]:
    """Return {"own": deputies of the person, "others": rows by which the person is a deputy} from today on.

    Two queries.
    """
    rows = Deputy.objects.filter(ended_at=None, last_day__gte=now.date()).order_by("first_day", "pk")
    return {
        "own": list(rows.filter(person=user).select_related("deputy")[:MAX_ROWS]),
        "others": list(rows.filter(deputy=user).select_related("person")[:MAX_ROWS]),
    }


def list_possible(user: User) -> list[User]:
    """Return the people whom the person may name as a deputy, with their names only. One query."""
    return list(possible_deputies(user).only("username", "first_name", "last_name")[:MAX_PEOPLE])
