"""Tests of the life of a job as users see it in Chromium."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Window

pytestmark = pytest.mark.browser

OpenWindow = Callable[..., Window]
RUN_MILLISECONDS = 180_000
PAGES = ("/", "/jobs/new/?example=1", "/approvals/", "/history/")


def state(page: Page) -> str:
    """Return the text beside the shape under the job's name."""
    return page.locator("h1 ~ .sentence .state").inner_text()


def compose_example(page: Page, **changes: str) -> str:
    """Fill in the form from the example, with `changes` by label; submit; return the job's name."""
    page.get_by_role("link", name="New job").click()
    page.get_by_role("link", name="Example", exact=True).click()
    for label, value in changes.items():
        page.get_by_label(label, exact=True).fill(value)
    name = page.get_by_label("Display name", exact=True).input_value()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/jobs/[-0-9a-f]{36}/"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    return name


def test_a_job_from_the_form_to_its_success(window: OpenWindow) -> None:
    engineer, approver = window().sign_in("engineer"), window().sign_in("approver")

    name = compose_example(engineer.page)
    assert state(engineer.page) == "awaiting approval"
    engineer.page.get_by_text("another approver or lead of vision decides").wait_for()

    approver.page.get_by_role("link", name=re.compile("Approvals")).click()
    approve = approver.page.get_by_role("button", name="Approve up to")
    question = approver.page.locator("form.decide").filter(has=approve).last
    question.get_by_label(re.compile("Reason")).fill("worth it")
    question.get_by_role("button", name="Approve up to").click()
    expect(approver.page.get_by_text(f"Approved {name}")).to_be_visible()

    # Nobody reloads: the page follows the job by itself, through one loss of its Spot machine.
    page = engineer.page
    expect(page.locator("h1 ~ .sentence")).to_contain_text("RUNNING", timeout=RUN_MILLISECONDS)
    expect(page.locator("h1 ~ .sentence")).to_contain_text("SUCCEEDED", timeout=RUN_MILLISECONDS)
    expect(page.get_by_role("img", name=re.compile(r"^1 of \d+ restarts used"))).to_be_visible()
    expect(page.get_by_role("region", name=re.compile("^Log"))).to_contain_text("accuracy")
    expect(page.get_by_role("cell", name=re.compile("worth it"))).to_be_visible()
    expect(page.locator(".job-strip")).to_contain_text(re.compile(r"epoch \d+ of \d+.*accuracy", re.DOTALL))
    expect(page.get_by_role("img", name=re.compile("^loss: between"))).to_be_visible()
    cost = page.locator("dt", has_text="Total").locator("xpath=following-sibling::dd[1]").inner_text()
    assert float(cost.removeprefix("$")) > 0

    page.get_by_role("link", name="Board", exact=True).first.click()
    expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("SUCCEEDED")


class TestWithoutJavaScript:
    def test_a_refused_job_keeps_what_was_typed(self, window: OpenWindow) -> None:
        engineer = window(java_script_enabled=False).sign_in("engineer")
        engineer.expected_statuses = {422}
        page = engineer.page
        page.goto("/jobs/new/?example=1")
        page.get_by_label("Output folder").fill("not-a-bucket")
        page.get_by_label("Replicas").fill("0")

        page.get_by_role("button", name="Submit").click()

        assert page.get_by_label("Output folder").input_value() == "not-a-bucket"
        assert page.get_by_label("Replicas").input_value() == "0"
        assert page.locator(".find.error:visible").count() >= 2
        page.goto("/")
        assert page.get_by_text("not-a-bucket").count() == 0

    def test_a_job_is_requested_rejected_and_found_again(self, window: OpenWindow) -> None:
        engineer = window(java_script_enabled=False).sign_in("engineer")
        approver = window(java_script_enabled=False).sign_in("approver")
        name = compose_example(engineer.page)

        approver.page.get_by_role("link", name=re.compile("Approvals")).click()
        approver.page.get_by_role("navigation", name="Requests").get_by_role("link", name=name).click()
        approver.page.get_by_label(re.compile("Reason")).fill("too dear")
        approver.page.get_by_role("button", name="Reject").click()

        engineer.page.reload()
        assert state(engineer.page) == "rejected"
        expect(engineer.page.get_by_role("cell", name=re.compile("too dear"))).to_be_visible()
        engineer.page.get_by_role("link", name="History").click()
        expect(engineer.page.get_by_role("row").filter(has_text=name)).to_contain_text("rejected")


def test_pages_fit_a_phone(window: OpenWindow) -> None:
    phone = window(viewport={"width": 390, "height": 800}).sign_in("engineer")
    too_wide = {}

    for path in PAGES:
        phone.page.goto(path)
        too_wide[path] = phone.overflow()

    assert {path: pixels for path, pixels in too_wide.items() if pixels > 0} == {}
