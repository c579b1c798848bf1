"""Tests of the token and API pages in Chromium: axe finds nothing, they fit a phone, and need no script."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import faults
from tests.support.api import token_of

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser


def test_every_state_of_the_pages_is_accessible_and_fits(window: OpenWindow, owner: User) -> None:
    token_of(owner)
    view = window().sign_in("owner")
    wrong: dict[str, list[str]] = {}

    for step in ("list", "error", "made", "docs"):
        view.page.goto("/api/" if step == "docs" else "/account/tokens/")
        if step in {"error", "made"}:
            view.page.get_by_label("Name").fill("CI" if step == "made" else " ")
            view.page.get_by_role("button", name="Make token").click()
        wrong[step] = faults(view)

    view.troubles.clear()  # the browser itself logs the answer 422
    assert {step: found for step, found in wrong.items() if found} == {}


@pytest.mark.parametrize("has_script", [True, False])
def test_a_token_is_made_and_revoked(window: OpenWindow, owner: User, has_script: bool) -> None:
    page = window(java_script_enabled=has_script).sign_in("owner").page
    page.goto("/account/tokens/")
    page.get_by_label("Name").fill("CI of vision")
    page.get_by_label("Approve and reject jobs").check()
    page.get_by_role("button", name="Make token").click()

    expect(page.locator("#token")).to_contain_text("tb_")
    page.get_by_role("button", name="Revoke CI of vision").click()
    expect(page.get_by_role("status")).to_contain_text("Revoked the token CI of vision")


def test_a_token_is_copied_by_a_button_that_says_so_for_a_moment(window: OpenWindow, owner: User) -> None:
    page = window().sign_in("owner").page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/account/tokens/")
    page.get_by_label("Name").fill("CI of vision")
    page.get_by_role("button", name="Make token").click()
    page.clock.install()
    button = page.locator("[data-copy=token]")

    button.click()
    expect(button).to_have_text("Copied")
    button.click()
    page.clock.run_for(2_000)

    expect(button).to_have_text("Copy")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#token").text_content()
