"""Tests of the message pages in Chromium: axe finds nothing, and no sideways scrolling on a phone."""

import pytest
from django.contrib.auth.models import User

from jobs.messages import webhook
from jobs.messages.route import route
from jobs.models import Channel, Delivery, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import faulty
from tests.support.clock import Clock

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser


@pytest.fixture
def addresses(team: Team, owner: User, make_job: MakeJob, clock: Clock) -> list[str]:
    """Every page of messages for a lead, with something on it."""
    lead = person("leader", team, "lead")
    common = {"team": team, "created_by": lead, "created_at": clock.now, "kinds": ["failed", "started"]}
    hook = Channel.objects.create(
        name="a-channel-name-that-is-long-enough-to-need-a-second-line", via="webhook",
        address="https://receiver.example.org/hook/1234", secret=webhook.new_secret(),
        last_error="The server " * 9, **common,
    )  # fmt: skip
    Channel.objects.create(name="chat", via="slack", address="https://a.org/x", paused_at=clock.now, **common)
    make_job("failed", by=lead, name="a-name-that-is-long-enough-to-need-a-second-line-on-a-phone" * 2)
    make_job("awaiting_approval")
    route(clock.now)
    Delivery.objects.filter(channel=hook).update(state="dead", ended_at=clock.now, last_error="The server " * 9)
    pages = ("", "settings/", "channels/", f"channels/{hook.pk}/", f"channels/new/{team.pk}/", "undelivered/")
    return [f"/messages/{page}" for page in pages]


def test_every_page_is_accessible_and_fits(window: OpenWindow, addresses: list[str]) -> None:
    view = window().sign_in("leader")

    assert faulty(view, addresses) == {}


def test_a_lead_adds_a_webhook_and_sees_its_secret_once(window: OpenWindow, addresses: list[str]) -> None:
    page = window().sign_in("leader").page
    page.goto(addresses[4])
    page.get_by_label("Kind").select_option("webhook")
    page.get_by_label("Name").fill("pager")
    page.get_by_label("Address").fill("https://pager.example.org/hook")
    page.get_by_role("button", name="Add", exact=True).click()

    assert page.locator(".secret code").inner_text().startswith("whsec_")
    page.goto("/messages/channels/")
    page.get_by_role("link", name="pager").click()
    assert page.locator(".secret").count() == 0


def test_boxes_stand_below_their_heading_on_a_phone(window: OpenWindow, addresses: list[str]) -> None:
    page = window(viewport={"width": 390, "height": 800}).sign_in("leader").page
    page.goto("/messages/settings/")

    lefts = "cells => cells.map(each => Math.round(each.getBoundingClientRect().left))"
    headings = page.locator(".kinds thead th").evaluate_all(lefts)
    rows = page.locator(".kinds tbody tr").all()
    assert len(rows) > 10
    assert all(row.locator("th, td").evaluate_all(lefts) == headings for row in rows)
