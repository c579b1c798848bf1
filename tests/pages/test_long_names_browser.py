"""Tests of pages with the longest names in Chromium: nothing scrolls sideways or is cut, at four widths."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.messages.route import route
from jobs.models import ApiToken, Budget, Channel, Delivery, Job, PersistentResource, Policy, Schedule, Team, Template
from jobs.upkeep import file_jobs
from tests.conftest import person
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support import samples
from tests.support.accessibility import faulty
from tests.support.clock import Clock

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser

WIDTHS = (1440, 1024, 390, 320)
WORDS = ("W", "\N{ROCKET}", "فريق الرؤية ")
"""What a name is made of: one word without a place to break, emoji, and text from right to left."""


def name(word: str, length: int) -> str:
    """Return the longest name of a column."""
    return (word * length)[:length].strip()


@pytest.fixture
def lead(team: Team, make_job: MakeJob, clock: Clock) -> User:
    """A lead of three teams whose names, and those of everything in them, are as long as they can be."""
    lead, asking = person("l" * 150, team, "lead"), []
    for number, word in enumerate(WORDS):
        its = team if number == 0 else Team.objects.create(name=word, project=team.project)
        its.name = name(word, 80)
        its.save()
        asking.append(person(f"{number}" * 150, its, "engineer"))
        if number:
            its.memberships.create(user=lead, role="lead")
            Policy.objects.create(team=its, ask_over_usd=500)
        fill(its, lead, word, clock)
        make_job("awaiting_approval", of=its, by=asking[number], name=name(word, 128))
        make_job("failed", of=its, by=lead, name=name(word, 128))
    PersistentResource.objects.create(
        project=team.project, region="us-central1", resource_id="r" * 63, state="RUNNING", state_since=clock.now,
        body={"resourcePools": [{"machineSpec": samples.A100, "replicaCount": "4"}]}, seen_at=clock.now,
    )  # fmt: skip
    route(clock.now)
    Delivery.objects.exclude(channel=None).update(state="dead", ended_at=clock.now, last_error="E" * 300)
    return lead


def fill(team: Team, lead: User, word: str, clock: Clock) -> None:
    made: dict[str, Any] = {"team": team, "created_at": clock.now}
    spec = {"kind": "custom_job", "spec": samples.body(), "region": "northamerica-northeast1", "expected_seconds": 60}
    saved = made | spec | {"name": name(word, 80), "updated_at": clock.now}
    Template.objects.create(created_by=lead, note=name(word, 500), **saved)
    Schedule.objects.create(owner=lead, cron="0,1,2,3,4,5,6,7,8,9 * * * *", time_zone="UTC", **saved)
    label = f"{'k' * 63}={'v' * 63}"
    Budget.objects.create(name=name(word, 80), dimension="label", value=label, amount_usd=1, passing="ask", **made)
    channel = {"via": "slack", "address": "https://a.org", "kinds": ["failed"], "created_by": lead}
    Channel.objects.create(name=name(word, 60), last_error="E" * 300, **channel, **made)
    ApiToken.objects.create(
        owner=lead, name=name(word, 80), digest=word[0], scopes=["read"], created_at=clock.now, expires_at=clock.now
    )


def test_every_list_fits(window: OpenWindow, team: Team, lead: User) -> None:
    view = window().sign_in(lead.username)
    channel, budget = (model.objects.order_by("pk")[0].pk for model in (Channel, Budget))
    file_jobs()
    family = Job.objects.filter(team=team, state="failed").order_by("requested_at")[0].pk
    own = Schedule.objects.order_by("created_at")[0].pk, Template.objects.order_by("pk")[0].pk
    addresses = (
        "/messages/", "/messages/channels/", f"/messages/channels/{channel}/", "/messages/undelivered/", "/templates/",
        f"/templates/{own[1]}/", "/schedules/", f"/schedules/{own[0]}/", "/teams/", f"/teams/{team.pk}/", "/budgets/",
        f"/budgets/{budget}/", "/spend/", f"/policy/?team={team.pk}", "/approvals/", "/account/", "/account/tokens/",
        "/audit/", "/persistent-resources/", "/compare/", "/deputies/",
        f"/families/{family}/", f"/families/{family}/move/?job={family}",
    )  # fmt: skip

    assert faulty(view, addresses, WIDTHS) == {}


def test_a_menu_of_many_teams_opens_inside_the_window(window: OpenWindow, lead: User) -> None:
    for number in range(5):
        Team.objects.create(name=f"{number} {'W' * 70}", project="p").memberships.create(user=lead, role="lead")
    view = window().sign_in(lead.username)

    for path, menu in (("/policy/", "#team-menu"), ("/spend/", "#team-menu"), ("/budgets/", "#budget-new-menu")):
        for width in WIDTHS:
            view.page.set_viewport_size({"width": width, "height": 800})
            view.page.goto(path)
            view.page.locator(f"{menu} > summary").click()
            box = view.page.locator(f"{menu} > div").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert view.overflow() == 0


def test_no_selection_of_the_policy_is_cut(window: OpenWindow, lead: User) -> None:
    view = window().sign_in(lead.username)
    cut = """selects => selects.filter(each => {
        const style = getComputedStyle(each), context = document.createElement("canvas").getContext("2d");
        context.font = style.font;
        const text = Math.max(...[...each.options].map(option => context.measureText(option.text).width));
        return text + 20 > each.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    }).map(each => each.name)"""  # 20 px: the arrow

    for width in (1440, 1280, 1024, 800, 390):
        view.page.set_viewport_size({"width": width, "height": 800})
        view.page.goto("/policy/")
        view.page.locator(".rule > details > summary").first.click()
        assert view.page.locator(".conditions select:visible").count()
        assert view.page.locator(".conditions select:visible").evaluate_all(cut) == []


def test_no_figure_of_a_strip_stands_alone(window: OpenWindow, lead: User) -> None:
    view = window().sign_in(lead.username)
    rows = """strip => Object.values(Object.groupBy(strip.children, each => each.offsetTop)).map(row => row.length)"""

    for path in ("/persistent-resources/", "/spend/"):
        for width in (1440, 1024, 800, 390):
            view.page.set_viewport_size({"width": width, "height": 800})
            view.page.goto(path)
            assert min(view.page.locator(".strip").evaluate(rows)) > 1, (path, width)
