"""Tests of the doctor's page in Chromium: axe finds nothing, it fits a phone, and works without JavaScript."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs import doctor
from jobs.models import Upkeep
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.pages.test_doctor import keep
from tests.support.accessibility import faults
from tests.support.clock import Clock

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser


def test_the_page_is_accessible_and_fits(window: OpenWindow, admin: User, clock: Clock) -> None:
    view = window().sign_in("admin")
    view.page.goto("/doctor/")
    wrong = faults(view)
    keep(clock)
    view.page.goto("/doctor/")
    for summary in view.page.locator("main summary").all():
        summary.click()

    assert wrong + faults(view) == []


def test_a_check_is_asked_for_without_javascript(window: OpenWindow, admin: User, clock: Clock) -> None:
    page = window(java_script_enabled=False).sign_in("admin").page
    page.goto("/doctor/")
    page.get_by_role("button", name="Check now").click()

    expect(page.get_by_role("status")).to_contain_text("A worker was asked")
    assert Upkeep.objects.filter(name=doctor.UPKEEP).exists()
