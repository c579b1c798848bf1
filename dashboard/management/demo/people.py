"""The people and teams of the demo. Their password is public, so they are created on loopback only."""

from collections.abc import Sequence
from decimal import Decimal

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction

from dashboard import rehearsal
from dashboard.access import known_password
from jobs.allowed_resources import NO_ACCOUNT
from jobs.models import AllowedResource, Membership, Policy, Role, Team

PASSWORD, SIGN_INS = rehearsal.PASSWORD, rehearsal.NAMES
TEAMS = {
    "vision": {"project": "vision-research", "bucket": "gs://vision-training"},
    "speech": {"project": "speech-research", "bucket": "gs://speech-training"},
}
MEMBERS = (
    ("vision", "engineer", Role.ENGINEER),
    ("vision", "approver", Role.APPROVER),
    ("vision", "lead", Role.LEAD),
    ("speech", "stranger", Role.ENGINEER),
)
ASK_OVER_USD = {"vision": Decimal("5.00"), "speech": Decimal("200.00")}


class NotLoopback(Exception):
    """Others can reach the site and could sign in with the public password."""


@transaction.atomic
def create(host: str, *, endpoint: str | None = None, reasons: Sequence[str] = ()) -> list[str]:
    """Create what is missing, change nothing else, and return the names of the new people.

    `host` is the address on which the site listens. `endpoint` is the address of Vertex AI if it is not that of the
    settings. `reasons` are additional reasons why the running site is not a rehearsal for people of this machine only.
    Raise `NotLoopback` if there is any reason. Writes users, teams, memberships and policies.
    """
    if against := [*reasons, *rehearsal.reasons_against(host=host, endpoint=endpoint)]:
        raise NotLoopback(f"Demo people are created on loopback only: {'; '.join(dict.fromkeys(against))}.")
    known = set(User.objects.filter(username__in=SIGN_INS).values_list("username", flat=True))
    new = [name for name in SIGN_INS if name not in known]
    password = make_password(PASSWORD) if new else ""
    for name in new:
        is_admin = name == "admin"
        User.objects.create(username=name, password=password, is_staff=is_admin, is_superuser=is_admin)
    for name, columns in TEAMS.items():
        team, is_new = Team.objects.get_or_create(name=name, defaults={**columns, "is_closed": True})
        if is_new:  # the demo's jobs have no service account
            AllowedResource.objects.create(team=team, kind=AllowedResource.Kind.SERVICE_ACCOUNT, name=NO_ACCOUNT)
        Policy.objects.get_or_create(team=team, defaults={"ask_over_usd": ASK_OVER_USD[name]})
    for team_name, name, role in MEMBERS:
        if name in new:
            team, user = Team.objects.get(name=team_name), User.objects.get(username=name)
            Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    return new


@transaction.atomic
def close() -> list[str]:
    """Remove the public password from the people who have it. Return their names.

    They cannot sign in until they get a new one. Their jobs and memberships are kept.
    """
    names = known_password.people()
    for user in User.objects.filter(username__in=names):
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return names
