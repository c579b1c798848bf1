"""Tests of every address of the site for anonymous users, strangers, each role and admins, with GET and POST.

The addresses come from the resolver, so that a new one without a row in the table fails. Objects of a team are
requested by key, and users outside the team get 404. A user with access never gets 403, 404, 405 or a server error.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from jobs.models import (
    Budget,
    Channel,
    Delivery,
    Job,
    Message,
    PersistentResource,
    Proposal,
    SavedView,
    Schedule,
    Team,
    Template,
)
from jobs.people import invitations
from jobs.upkeep import file_jobs
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases

RANK = {"nobody": -1, "stranger": 0, "viewer": 1, "engineer": 2, "approver": 3, "lead": 4, "admin": 5}
EVERYBODY, SIGNED_IN, NO_ONE = -1, 0, 99
VIEWER, ENGINEER, APPROVER, LEAD, ADMIN = 1, 2, 3, 4, 5
NOT_SERVED = 405


class Access(NamedTuple):
    """The lowest rank that each method is answered for; NO_ONE where the method is not served.

    `is_of_team`: the address names something of the team `vision`. `may_miss`: the object in the test is of another
    kind than the page wants, so that 404 is an answer for those who may ask as well. `is_hidden`: whoever may not ask
    is told that there is nothing.
    """

    get: int = SIGNED_IN
    post: int = NO_ONE
    is_of_team: bool = False
    may_miss: bool = False
    is_hidden: bool = False


def of_team(get: int = VIEWER, post: int = NO_ONE, *, may_miss: bool = False) -> Access:
    """Return the access to an object of a team."""
    return Access(get, post, is_of_team=True, may_miss=may_miss)


ACCESS = {
    "board": Access(SIGNED_IN, SIGNED_IN),
    "compose": Access(ENGINEER, ENGINEER),
    "compose-check": Access(NO_ONE, ENGINEER),
    "compose-draft": Access(NO_ONE, ENGINEER),
    "several": Access(SIGNED_IN, SIGNED_IN),
    "view-save": Access(NO_ONE, SIGNED_IN),
    "view-delete": Access(NO_ONE, SIGNED_IN, may_miss=True),
    "adopt": Access(ENGINEER),
    "adopt-look": Access(NO_ONE, ENGINEER, may_miss=True),
    "adopt-take": Access(NO_ONE, ENGINEER, may_miss=True),
    "import": Access(ENGINEER, ENGINEER),
    "approvals": Access(),
    "approvals-count": Access(),
    "history": Access(),
    "history-csv": Access(),
    "history-json": Access(),
    "persistent-resources": Access(),
    "resource-create": Access(APPROVER, APPROVER),
    "resource-change": of_team(APPROVER, APPROVER),
    "resource-change-decide": of_team(NO_ONE, VIEWER, may_miss=True),
    "compare": Access(),
    "family": of_team(),
    "family-csv": of_team(),
    "family-move": of_team(ENGINEER, ENGINEER),
    "templates": Access(),
    "template": of_team(VIEWER, ENGINEER),
    "template-delete": of_team(ENGINEER, ENGINEER),
    "schedules": Access(),
    "schedule-new": Access(SIGNED_IN, SIGNED_IN),
    "schedule": of_team(),
    "schedule-edit": of_team(LEAD, LEAD),
    "schedule-act": of_team(LEAD, LEAD),
    "catalogue": Access(),
    "prices": Access(),
    "price-record": Access(NO_ONE, SIGNED_IN, may_miss=True),
    "prices-accept": Access(NO_ONE, SIGNED_IN),
    "prices-import": Access(NO_ONE, SIGNED_IN),
    "rules": Access(),
    "rule-set": Access(NO_ONE, SIGNED_IN),
    "theme": Access(NO_ONE, SIGNED_IN),
    "login": Access(EVERYBODY, EVERYBODY),
    "admin-login": Access(EVERYBODY, EVERYBODY),
    "logout": Access(NO_ONE, SIGNED_IN),
    "password_reset": Access(EVERYBODY, EVERYBODY),
    "password_reset_done": Access(EVERYBODY),
    "password_reset_confirm": Access(EVERYBODY, EVERYBODY),
    "password_reset_complete": Access(EVERYBODY),
    "provider-begin": Access(EVERYBODY, may_miss=True),
    "provider-callback": Access(EVERYBODY, may_miss=True),
    "provider-confirm": Access(EVERYBODY, EVERYBODY),
    "provider-remove": Access(NO_ONE, SIGNED_IN, may_miss=True),
    "sign-in-once": Access(EVERYBODY, EVERYBODY),
    "join": Access(EVERYBODY, EVERYBODY),
    "healthz": Access(EVERYBODY, EVERYBODY),
    "readyz": Access(EVERYBODY, EVERYBODY),
    "metrics": Access(EVERYBODY),
    "account": Access(SIGNED_IN, SIGNED_IN),
    "account-password": Access(NO_ONE, SIGNED_IN),
    "account-browsers": Access(NO_ONE, SIGNED_IN),
    "spend": Access(),
    "spend-csv": Access(),
    "billing": of_team(LEAD, LEAD),
    "billing-csv": of_team(LEAD, may_miss=True),
    "budgets": Access(),
    "ceilings": Access(SIGNED_IN, ADMIN),
    "proposals": Access(),
    "proposal": of_team(VIEWER, VIEWER, may_miss=True),
    "budget-new": of_team(LEAD, LEAD),
    "budget": of_team(VIEWER, LEAD),
    "budget-close": of_team(NO_ONE, LEAD),
    "policy": Access(SIGNED_IN, LEAD),
    "policy-effects": Access(SIGNED_IN),
    "deputies": Access(SIGNED_IN, SIGNED_IN),
    "jump": Access(),
    "complete": Access(),
    "guide": Access(),
    "guide-page": Access(),
    "deputy-end": Access(NO_ONE, SIGNED_IN, may_miss=True),
    "components": Access(ADMIN, is_hidden=True),
    "doctor": Access(ADMIN, is_hidden=True),
    "doctor-examine": Access(NO_ONE, ADMIN, is_hidden=True),
    "messages": Access(),
    "messages-count": Access(),
    "messages-read": Access(NO_ONE, SIGNED_IN),
    "message": Access(may_miss=True),
    "message-settings": Access(SIGNED_IN, SIGNED_IN),
    "channels": Access(LEAD, is_hidden=True),
    "channel-new": of_team(LEAD, LEAD),
    "channel": of_team(LEAD, LEAD),
    "channel-act": of_team(NO_ONE, LEAD),
    "undelivered": Access(LEAD, is_hidden=True),
    "send-again": Access(NO_ONE, LEAD, is_of_team=True, is_hidden=True),
    "api-docs": Access(),
    "api-tokens": Access(SIGNED_IN, SIGNED_IN),
    "api-token-revoke": Access(NO_ONE, SIGNED_IN, may_miss=True),
    "people": Access(ADMIN),
    "people-tokens": Access(ADMIN, ADMIN, may_miss=True),
    "person-change": Access(NO_ONE, ADMIN),
    "sign-in-rules": Access(NO_ONE, ADMIN),
    "audit": Access(LEAD),
    "audit-csv": Access(LEAD),
    "teams": Access(SIGNED_IN, ADMIN),
    "team": of_team(),
    "team-members": of_team(NO_ONE, VIEWER, may_miss=True),
    "team-places": of_team(NO_ONE, LEAD),
    "team-project": of_team(NO_ONE, ADMIN),
    "team-allowed": of_team(NO_ONE, LEAD),
    "team-close": of_team(ADMIN, ADMIN),
    "team-invitations": of_team(LEAD, LEAD),
    "job": of_team(),
    "study": of_team(may_miss=True),
    "trials-csv": of_team(may_miss=True),
    "template-save": of_team(ENGINEER, ENGINEER),
    "job-live": of_team(),
    "job-log": of_team(),
    "job-log-new": of_team(),
    "job-log-text": of_team(),
    "cancel": of_team(ENGINEER, ENGINEER),
    "job-fine": of_team(VIEWER, LEAD),
    "job-delete": of_team(VIEWER, APPROVER),
    "decide": of_team(NO_ONE, ENGINEER),  # who decides in somebody's place; jobs.requests refuses others
    "job-offers": of_team(),
    "job-event-list": of_team(),
    "job-events": of_team(),
    "job-spec": of_team(),
}
"""Name of an address to who may ask for it."""
TREES = {"admin/", "api/v1/"}
"""Tested in test_admin.py and test_api_access.py, every address of theirs too."""
REDIRECTS = {"pools/"}
"""Addresses without a name that only lead elsewhere."""


def patterns() -> Iterator[URLPattern]:
    """Every address outside the administration and the API."""
    for each in get_resolver().url_patterns:
        if isinstance(each, URLResolver):
            assert str(each.pattern) in TREES, "a new tree of addresses: list what is in it"
        elif str(each.pattern) not in REDIRECTS:
            yield each


def test_every_address_stands_in_the_table() -> None:
    assert {pattern.name for pattern in patterns()} == set(ACCESS)


@pytest.fixture
def keys(make_job: MakeJob, team: Team, owner: User, clock: Clock) -> dict[str, dict[str, Any]]:
    """What each address names, by its name; everything belongs to the team `vision`."""
    job = filed(make_job("awaiting_approval"))
    template = Template.objects.create(
        team=team, name="base", kind=job.kind, spec=job.spec, region=job.region, expected_seconds=60,
        created_by=owner, created_at=clock.now, updated_at=clock.now,
    )  # fmt: skip
    resource = PersistentResource.objects.create(
        project=team.project, region=job.region, resource_id="pool", body={}, state="RUNNING",
        state_since=clock.now, seen_at=clock.now,
    )  # fmt: skip
    view = SavedView.objects.create(owner=owner, name="mine", query="who=all", created_at=clock.now)
    lead = person("lead", team, "lead")
    budget = Budget.objects.create(
        team=team, name="Training", dimension="team", value="", amount_usd=100, passing="warn", created_at=clock.now
    )
    channel = Channel.objects.create(
        team=team, name="ours", via="slack", address="https://hooks.example.com/x", created_by=lead,
        created_at=clock.now,
    )  # fmt: skip
    message = Message.objects.filter(team=team).first()
    failed = Delivery.objects.create(
        message=message, team=team, channel=channel, via="slack", state="dead",
        created_at=clock.now, due_at=clock.now, give_up_at=clock.now,
    )  # fmt: skip
    _, secret = invitations.invite(team, "ada@example.com", "viewer", by=lead, now=clock.now)
    schedule = Schedule.objects.create(
        team=team, owner=owner, name="nightly", cron="0 6 * * *", time_zone="UTC", kind=job.kind, spec=job.spec,
        region=job.region, expected_seconds=60, created_at=clock.now, updated_at=clock.now,
    )  # fmt: skip
    return {
        "uuid": {"pk": job.pk},
        "schedule": {"pk": schedule.pk},
        "schedule-edit": {"pk": schedule.pk},
        "schedule-act": {"pk": schedule.pk, "action": "pause"},
        "template": {"pk": template.pk},
        "template-delete": {"pk": template.pk},
        "resource-change": {"pk": resource.pk, "action": "delete"},
        "view-delete": {"pk": view.pk},
        "rule-set": {"code": "region_is_given"},
        "person-change": {"pk": owner.pk},
        "join": {"secret": secret},
        "guide-page": {"slug": "spot"},
        "provider-begin": {"key": "corp"},
        "provider-callback": {"key": "corp"},
        "sign-in-once": {"secret": "x"},
        "password_reset_confirm": {"uidb64": "MQ", "token": "x-y"},
        "team": {"pk": team.pk},
        "channel-new": {"pk": team.pk},
        "channel": {"pk": channel.pk},
        "channel-act": {"pk": channel.pk, "action": "pause"},
        "send-again": {"pk": failed.pk},
        "message": {"pk": message.pk},
        **{key: {"team_pk": team.pk} for key in ("billing", "billing-csv", "budget-new")},
        "budget": {"pk": budget.pk},
        "budget-close": {"pk": budget.pk},
        "proposal": {"pk": proposed(team, lead, clock).pk},
        **{key: {"pk": 1} for key in ("deputy-end", "resource-change-decide")},
        "api-token-revoke": {"pk": "1"},
    }


def filed(job: Job) -> Job:
    """Return a job that is a family of its own, which has its key."""
    file_jobs()
    return job


def proposed(team: Team, by: User, clock: Clock) -> Proposal:
    """Return a change of a budget that somebody has closed since."""
    before = {"name": "cloud", "amount_usd": "100", "passing": "stop", "thresholds": [50], "version": 1}
    wanted = before | {"amount_usd": "200", "passing": "ask"}
    return Proposal.objects.create(
        team=team, kind="budget", subject="1", before=before, wanted=wanted, proposed_by=by, proposed_at=clock.now
    )


def address_of(pattern: URLPattern, keys: dict[str, dict[str, Any]]) -> str:
    """Return the address of a pattern, about the objects of the test."""
    name, wanted = str(pattern.name), set(pattern.pattern.converters)
    kind = (
        name
        if name in keys
        else "uuid"
        if "<uuid:pk>" in str(pattern.pattern)
        else "team"
        if name.startswith("team")
        else name
    )
    return reverse(name, kwargs=keys[kind] if wanted else {})


def expected(access: Access, who: str, method: str) -> set[int] | None:
    """Return the statuses that refuse a person, or None if the request has to succeed."""
    least, is_public = getattr(access, method), EVERYBODY in (access.get, access.post)
    if who == "nobody" and not is_public:
        return {302}
    if least == NO_ONE:
        return {NOT_SERVED}
    if who == "stranger" and access.is_of_team:
        return {404}
    rank = RANK["lead"] if who == "stranger" else RANK[who]
    return None if rank >= least else {404} if access.is_hidden else {403}


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("who", RANK)
def test_everybody_gets_what_the_table_says(
    who: str, method: str, keys: dict[str, Any], team: Team, stranger: User, admin: User, signed_in: SignIn
) -> None:
    people = {"stranger": stranger, "admin": admin, "lead": User.objects.get(username="lead")}
    user = people.get(who) or (None if who == "nobody" else person(f"the-{who}", team, who))
    session = {} if user is None else signed_in(user).cookies
    wrong = {}
    for pattern in patterns():
        access, address = ACCESS[str(pattern.name)], address_of(pattern, keys)
        wanted = expected(access, who, method)
        with transaction.atomic():
            client = Client()
            client.cookies.load({name: each.value for name, each in session.items()})
            answer = getattr(client, method)(address)
            transaction.set_rollback(True)
        to_login = answer.headers.get("Location", "").startswith("/accounts/login/?next=")
        refused = {403, 404, NOT_SERVED} - ({404} if access.may_miss else set())
        is_right = answer.status_code in wanted if wanted else answer.status_code not in refused
        if not is_right or answer.status_code >= 500 or (user is None and wanted == {302} and not to_login):
            wrong[f"{method} {address}"] = (answer.status_code, wanted)

    assert wrong == {}
