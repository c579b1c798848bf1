"""Tests of the policy page in Chromium: rules are opened, moved and removed; axe finds nothing and it fits a phone."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from jobs.models import PolicyVersion, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import faults

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser


@pytest.fixture
def lead(team: Team) -> str:
    lena = person("lena", team, "lead")
    User.objects.filter(pk=lena.pk).update(is_superuser=True)  # the only site admin, who acts alone
    return lena.username


def sentences(page: Page) -> list[str]:
    """Return the sentences of the rules in the order on the page, by what they begin with."""
    return [text.split(" if ")[1][:10] for text in page.locator("[data-rule] .sentence").all_inner_texts()]


def test_rules_are_moved_and_removed(window: OpenWindow, lead: str) -> None:
    page = window().sign_in(lead).page
    page.goto("/policy/")
    before = sentences(page)
    first, second = page.locator("[data-handle]").all()

    second.drag_to(first, target_position={"x": 2, "y": 1})
    assert sentences(page) == before[::-1]
    expect(page.locator("[data-number]")).to_have_text(["1", "2"])
    page.get_by_role("region", name="Rule 1", exact=True).get_by_role("button", name="Move down").click()
    assert sentences(page) == before
    page.get_by_role("region", name="Rule 1", exact=True).get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Keep")).to_have_count(1)
    page.get_by_role("button", name="Save as version 1").click()
    expect(page.get_by_text("Policy 1 of vision now applies.")).to_be_visible()

    (rule,) = PolicyVersion.objects.get().rules
    assert not rule.get("cost_unknown")


def test_what_rules_did_is_shown_accessibly(window: OpenWindow, lead: str, make_job: MakeJob) -> None:
    make_job("running")
    view = window().sign_in(lead)
    view.page.goto("/policy/")
    expect(view.page.locator("#effect-of")).to_have_text("of the last job")
    expect(view.page.locator("#effect-2")).to_have_text("0 asked")
    assert not faults(view)
    view.page.locator(".rule summary").first.click()
    expect(view.page.get_by_label("Outcome").first).to_be_visible()
    assert not faults(view)
