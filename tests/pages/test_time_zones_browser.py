"""Tests of a time zone chosen in Chromium: the board and its live parts show it."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs import transitions
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import violations
from tests.support.clock import Clock

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser
ZONE = "Asia/Kathmandu"


def test_the_board_and_its_live_clock_are_in_the_chosen_zone(
    window: OpenWindow, make_job: MakeJob, owner: User, clock: Clock
) -> None:
    job = make_job("running")
    view = window(viewport={"width": 390, "height": 800}).sign_in("owner")
    page = view.page
    page.goto("/account/")
    page.get_by_label("Time zone", exact=True).select_option(ZONE)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Time zone", exact=True)).to_have_value(ZONE)
    assert violations(page) == []

    page.goto("/")
    expect(page.locator("[data-live-mark]")).to_have_text("live 14:45:40")  # the tests' clock drew it
    transitions.transition(job, "succeeded", now=clock.forward(seconds=61), message="It succeeded.")
    expect(page.locator(f"#row-{job.pk}")).to_contain_text("SUCCEEDED", timeout=15_000)
    shown = re.search(r"live (\d\d):(\d\d):(\d\d)", page.locator("[data-live-mark]").inner_text())

    assert shown is not None
    real = datetime.now(UTC).astimezone(ZoneInfo(ZONE))  # the server's real clock is in the header Date
    told = real.replace(hour=int(shown[1]), minute=int(shown[2]), second=int(shown[3]))
    assert min(abs(told - real + timedelta(days=days)) for days in (-1, 0, 1)) < timedelta(minutes=5)
    assert view.overflow() <= 0
