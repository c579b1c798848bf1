"""Tests of every address at a width of 320 pixels, light and dark: axe finds nothing, no sideways scrolling.

The addresses come from the table in test_every_address.py, so that a new page is tested automatically.
"""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern

from dashboard.guide import guide_pages
from tests.pages.test_browser import OpenWindow, addresses, chromium, window
from tests.pages.test_every_address import ACCESS, NO_ONE, address_of, keys, patterns
from tests.support.accessibility import faults
from tests.support.browser import Window

__all__ = ["addresses", "chromium", "keys", "window"]
pytestmark = pytest.mark.browser

WIDTH = 320
"""CSS pixels: a page of 1280 at 400 %, which WCAG 2.2 asks for (1.4.10 Reflow)."""
NO_PAGES = frozenset(
    {
        "audit-csv", "billing-csv", "healthz", "readyz", "metrics", "history-csv", "history-json", "job-events",
        "job-spec", "job-log-text", "spend-csv", "trials-csv", "study", "message", "several", "job-live", "job-log",
        "job-log-new", "job-offers", "job-event-list", "approvals-count", "messages-count", "jump",
        "complete", "policy-effects", "family-csv",
    }
)  # fmt: skip
"""Addresses that answer with no whole page: files, parts of pages, and what needs more than the key of a job."""


def faults_at(view: Window, address: str) -> list[str]:
    """Return what is wrong with a page in light and in dark; an answer that is none is wrong."""
    answer = view.page.goto(address)
    if answer is None or "text/html" not in answer.headers.get("content-type", ""):
        return [f"answers {answer and answer.status} {answer and answer.headers.get('content-type')}"]
    return faults(view, [WIDTH])


def is_page(pattern: URLPattern) -> bool:
    return pattern.name not in NO_PAGES and ACCESS[str(pattern.name)].get != NO_ONE


def test_every_address_is_accessible_and_fits(
    window: OpenWindow, addresses: list[str], keys: dict[str, Any], admin: User
) -> None:
    view = window()
    view.expected_statuses = {404, 410}
    wrong = {"/accounts/login/": faults_at(view, "/accounts/login/")}
    view.sign_in("admin")

    guide = [f"/docs/{page.slug}/" for page in guide_pages()]
    for address in dict.fromkeys(
        [*addresses, *guide, *(address_of(each, keys) for each in patterns() if is_page(each))]
    ):
        wrong[address] = faults_at(view, address)

    assert len(wrong) > 50
    assert set(ACCESS) > NO_PAGES
    assert {address: found for address, found in wrong.items() if found} == {}
