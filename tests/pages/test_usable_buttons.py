"""No page draws a link or button that answers 403: every page is walked as each role, and everything on it tried."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from dashboard.access.locale import FILES
from jobs.models import Job, Membership, PersistentResource, ResourceChange, Role, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn
from tests.pages.test_every_address import ACCESS, NO_ONE, address_of, keys, patterns
from tests.support import samples
from tests.support.clock import Clock
from tests.support.resources import DISK, seen

__all__ = ["keys"]
pytestmark = pytest.mark.django_db
ROLES = ("viewer", "engineer", "approver", "lead")
BESIDE, ELSEWHERE = "lead of another team with the project", "viewer here and lead of a team elsewhere"
STATES = ("running", "queued", "succeeded", "failed", "cancelled", "submit_failed")
TYPED = {"text", "number", "email", "search", "date", "password", "url", None}


@dataclass
class Form:
    """What a form sends without a button, and the names and values of its buttons."""

    action: str
    is_post: bool
    values: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def requests(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield what each button sends."""
        for name, value in self.buttons or [("", "")]:
            yield self.action, self.values | ({name: value} if name else {})


class Acts(HTMLParser):
    """Collects the links and forms of a page."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.links, self.forms = address, set[str](), list[Form]()
        self._open: Form | None = None
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links |= {given[name] or "" for name in ("href", "hx-get") if tag != "link" and given.get(name)}
        if given.get("hx-post"):
            self.forms.append(Form(given["hx-post"] or "", is_post=True))
        if tag == "form":
            self._open = Form(given.get("action") or self.address, is_post=given.get("method") == "post")
            self.forms.append(self._open)
        elif self._open is not None:
            self._add(self._open, tag, given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None

    def _add(self, form: Form, tag: str, given: dict[str, str | None]) -> None:
        name, value = given.get("name") or "", given.get("value") or ""
        if "disabled" in given:
            return
        if tag == "button" or given.get("type") == "submit":
            form.buttons.append((name, value))
        elif tag == "input" and (given.get("type") in {*TYPED, "hidden"} or "checked" in given):
            form.values[name] = value
        elif tag == "select":
            self._select = name
        elif tag == "option" and (self._select not in form.values or "selected" in given):
            form.values[self._select] = value
        elif tag == "textarea":
            form.values[name] = ""


@pytest.fixture
def world(keys: dict[str, Any], make_job: MakeJob, team: Team, owner: User, clock: Clock) -> list[str]:
    """Jobs in many states, and resources: one of the team, one of nobody, one with a change that waits."""
    jobs = [make_job(state) for state in STATES]
    pools = [{"machineSpec": samples.A100, "diskSpec": DISK, "replicaCount": "2"}]
    asker = person("asker", team, Role.APPROVER)
    for name, outcome in (("of-the-team", "accepted"), ("of-nobody", "")):
        seen(name, now=clock.now, pools=pools, project=team.project)
        if outcome:
            ResourceChange.objects.create(
                team=team, project=team.project, region="us-central1", resource_id=name, action="create",
                asked_by=asker, asked_at=clock.now, allowed_at=clock.now, ended_at=clock.now, outcome=outcome,
                lifetime_hours=24, deletes_at=clock.now, usd_per_hour=1, gpus=1,
            )  # fmt: skip
    ResourceChange.objects.create(
        team=team, project=team.project, region="us-central1", resource_id="wanted", action="create", asked_by=asker,
        asked_at=clock.now, needs=[{"approvals": 1, "role": "approver", "approvers": []}], lifetime_hours=24, body={},
    )  # fmt: skip
    served = [each for each in patterns() if ACCESS[str(each.name)].get != NO_ONE]
    addresses = [address_of(each, keys) for each in served]
    resources = [f"/persistent-resources/{row.pk}/resize/" for row in PersistentResource.objects.all()]
    return [*addresses, *(f"/jobs/{job.pk}/" for job in jobs), f"/studies/{Job.objects.all()[0].pk}/", *resources]


@pytest.fixture
def people(team: Team, stranger: User, admin: User) -> dict[str, User]:
    other = Team.objects.create(name="beside", project=team.project)
    both = person("both", team, Role.VIEWER)
    Membership.objects.filter(user=stranger).update(role=Role.LEAD)
    Membership.objects.create(user=both, team=Membership.objects.get(user=stranger).team, role=Role.LEAD)
    found = {"stranger": stranger, "admin": admin, BESIDE: person("beside", other, Role.LEAD), ELSEWHERE: both}
    return found | {role: person(f"the-{role}", team, role) for role in ROLES}


def pages(client: Client, addresses: list[str]) -> Iterator[Acts]:
    """Yield what the pages among these addresses offer, and among those that they link to."""
    asked, open_ = set[str](), list(addresses)
    while open_:
        address = open_.pop(0)
        if address in asked:
            continue
        asked.add(address)
        answer = client.get(address)
        if answer.status_code != 200 or "html" not in answer.headers.get("content-type", ""):
            continue
        acts = Acts(address)
        acts.feed(answer.content.decode())
        yield acts


def try_all(client: Client, addresses: list[str]) -> dict[str, str]:
    """Follow each link and press each button. Return {what was refused with 403: the page that offers it}."""
    refused: dict[str, str] = {}
    tried = set[str]()
    for page in pages(client, addresses):
        for link in sorted(page.links):
            address = urldefrag(link)[0]
            if not address.startswith("/") or urlsplit(address).path.endswith(FILES) or address in tried:
                continue
            tried.add(address)
            if client.get(address).status_code == 403:
                refused[f"GET {address}"] = page.address
        for form in page.forms:
            if not form.action.startswith("/") or form.action.startswith("/accounts/logout"):
                continue
            for action, values in form.requests():
                key = f"{'POST' if form.is_post else 'GET'} {action} {sorted(values.items())}"
                if key in tried:
                    continue
                tried.add(key)
                with transaction.atomic():
                    again = Client()
                    again.cookies.load({name: each.value for name, each in client.cookies.items()})
                    answer = again.post(action, values) if form.is_post else again.get(action, values)
                    transaction.set_rollback(True)
                if answer.status_code == 403:
                    refused[key] = page.address
    return refused


@pytest.mark.parametrize("role", [*ROLES, "stranger", "admin", BESIDE, ELSEWHERE])
def test_no_page_offers_what_is_refused(
    world: list[str], people: dict[str, User], signed_in: SignIn, role: str
) -> None:
    assert try_all(signed_in(people[role]), world) == {}
