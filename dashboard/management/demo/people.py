"""The people and teams of the demo. Their password is known to everybody, so they exist behind loopback only."""

from decimal import Decimal

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction

from dashboard.management.supervisor.ports import is_loopback
from jobs.models import Membership, Policy, Role, Team

PASSWORD = "trainboard"  # noqa: S105 - printed by `make up`
SIGN_INS = ("engineer", "approver", "stranger", "admin")
TEAMS = {
    "vision": {"project": "vision-research", "bucket": "gs://vision-training"},
    "speech": {"project": "speech-research", "bucket": "gs://speech-training"},
}
MEMBERS = (
    ("vision", "engineer", Role.ENGINEER),
    ("vision", "approver", Role.APPROVER),
    ("speech", "stranger", Role.ENGINEER),
)
ASK_OVER_USD = {"vision": Decimal("1.00"), "speech": Decimal("50.00")}


class NotLoopback(Exception):
    """The site can be reached from other machines, where a known password is an open door."""


@transaction.atomic
def create(host: str) -> list[str]:
    """Create what is missing and change nothing that is there; return the names of the new people.

    Raises `NotLoopback` unless the site listens on loopback. Rows: users, teams, memberships, policies.
    """
    if not is_loopback(host):
        raise NotLoopback(f"The site listens on {host}: demo people are created on loopback only.")
    known = set(User.objects.filter(username__in=SIGN_INS).values_list("username", flat=True))
    new = [name for name in SIGN_INS if name not in known]
    password = make_password(PASSWORD) if new else ""
    for name in new:
        is_admin = name == "admin"
        User.objects.create(username=name, password=password, is_staff=is_admin, is_superuser=is_admin)
    for name, columns in TEAMS.items():
        team, _ = Team.objects.get_or_create(name=name, defaults=columns)
        Policy.objects.get_or_create(team=team, defaults={"ask_over_usd": ASK_OVER_USD[name]})
    for team_name, name, role in MEMBERS:
        if name in new:
            team, user = Team.objects.get(name=team_name), User.objects.get(username=name)
            Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    return new


def with_known_password() -> list[str]:
    """Return the demo people who can still sign in with the password that everybody knows."""
    people = User.objects.filter(username__in=SIGN_INS, is_active=True).order_by("username")
    return [user.username for user in people if user.check_password(PASSWORD)]
