"""Tests of the prices page in Chromium: axe finds nothing, it fits a phone, and works for admins without JavaScript."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs.upkeep.price_import import import_when_due
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import faults
from tests.support.clock import Clock
from tests.support.skus import COMPUTE, VERTEX, serving, sku

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser

H100 = "/prices/?region=us-central1&price=NVIDIA_H100_80GB/standard/vertex_training&q=H100"


@pytest.fixture
def proposed(clock: Clock, settings: Any) -> None:
    """An import that left a change to an admin."""
    with serving() as server:
        settings.BILLING_ENDPOINT = server.url
        a100 = sku("Nvidia Tesla A100 GPU running in Americas", "4")
        server.skus = {COMPUTE: [a100, sku("x", "1")], VERTEX: [sku("x", "1"), sku("y", "1")]}
        import_when_due(clock.now)


def test_every_state_of_the_page_is_accessible_and_fits(window: OpenWindow, admin: User, proposed: None) -> None:
    view = window().sign_in("admin")
    wrong: dict[str, list[str]] = {}

    for address in ("/prices/?q=a3", "/prices/?q=n1-standard&show=missing", "/prices/?q=nothing", H100):
        view.page.goto(address)
        for summary in view.page.locator(".record summary").all():
            summary.click()
        wrong[address] = faults(view)

    assert {address: found for address, found in wrong.items() if found} == {}


@pytest.mark.parametrize("has_script", [True, False])
def test_an_admin_records_a_price(window: OpenWindow, admin: User, has_script: bool) -> None:
    page = window(java_script_enabled=has_script).sign_in("admin").page
    page.goto(H100)
    page.get_by_text("Record a price").click()
    page.get_by_label("USD per hour").fill("12.5")
    page.get_by_label("Source", exact=True).fill("Our bill of November")
    page.get_by_label("Reason").fill("The list is old")
    page.get_by_role("button", name="Record").click()

    expect(page.locator("#history")).to_contain_text("$12.5")
    expect(page.locator("#history")).to_contain_text("The list is old")
