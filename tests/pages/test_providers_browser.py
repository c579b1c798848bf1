"""Tests of sign-in at a provider in Chromium: from the sign-in page to the board, links, and layout."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs.models import Identity, Team
from tests.conftest import PASSWORD
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.pages.test_providers import server
from tests.support.accessibility import faulty
from tests.support.openid import OpenIdServer

__all__ = ["chromium", "server", "window"]
pytestmark = pytest.mark.browser


@pytest.mark.parametrize("java_script", [True, False])
def test_from_the_sign_in_page_to_the_wanted_page(window: OpenWindow, team: Team, java_script: bool) -> None:
    view = window(java_script_enabled=java_script)
    page = view.page
    page.goto("/history/")
    page.get_by_role("link", name="Sign in with Corp").click()

    expect(page.get_by_role("heading", level=1, name="History")).to_be_visible()
    page.goto("/")
    expect(page.locator(".menu.account summary")).to_have_text("ada@example.com")
    assert "vision" not in page.locator("main").inner_text()  # nobody has given the new account a team


def test_an_account_with_a_password_is_linked_and_the_link_removed(window: OpenWindow, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(email="ada@example.com")
    view = window()
    page = view.page
    view.expected_statuses = {422}
    page.goto("/")
    page.get_by_role("link", name="Sign in with Corp").click()
    page.get_by_label("Password of your Trainboard account").fill("wrong")
    page.get_by_role("button", name="Link Corp").click()
    expect(page.get_by_text("This is not the password of the account.")).to_be_visible()
    page.get_by_label("Password of your Trainboard account").fill(PASSWORD)
    page.get_by_role("button", name="Link Corp").click()
    expect(page.locator(".menu.account summary")).to_have_text("owner")

    page.goto("/account/")
    page.get_by_role("button", name="Remove Corp").click()
    expect(page.get_by_text("The link is removed.")).to_be_visible()
    assert not Identity.objects.exists()
    page.get_by_role("link", name="Link Corp").click()
    page.get_by_role("button", name="Link Corp").click()
    expect(page.get_by_text("Corp is linked")).to_be_visible()
    assert Identity.objects.get().user == owner


def test_the_pages_are_accessible_and_fit(window: OpenWindow, server: OpenIdServer, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(email="ada@example.com")
    view, widths = window(), (1280, 390, 320)
    server.is_cancelling = True
    cancelled = faulty(view, ["/accounts/login/", "/accounts/providers/corp/"], widths)
    server.is_cancelling = False
    asked = faulty(view, ["/accounts/providers/corp/"], widths)
    view.page.get_by_label("Password of your Trainboard account").fill(PASSWORD)
    view.page.get_by_role("button", name="Link Corp").click()

    assert [cancelled, asked, faulty(view, ["/account/"], widths)] == [{}, {}, {}]
