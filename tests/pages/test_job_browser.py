"""Tests of a training job's page in Chromium: accessible, stable during live updates, complete without JavaScript."""

import re
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs import transitions
from jobs.models import Job, LogLine
from tests.pages import test_browser, test_job_training
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow
from tests.support.accessibility import faults
from tests.support.clock import Clock

pytestmark = pytest.mark.browser

chromium, window, trained = test_browser.chromium, test_browser.window, test_job_training.trained
UPDATE = """() => {
  const live = document.querySelector("#live");
  htmx.ajax("GET", live.getAttribute("hx-get"), {source: live, target: live, swap: "morph"});
}"""
"""What the live part does every three seconds."""
HOSTILE = "\u202e<b>\u05e9\u05dc\u05d5\u05dd</b> " + "🚂" * 100


def test_it_is_accessible_and_fits(window: OpenWindow, trained: Job) -> None:
    Job.objects.filter(pk=trained.pk).update(display_name=HOSTILE)
    view = window().sign_in("owner")
    view.page.goto(f"/jobs/{trained.pk}/?zoom=attempt")
    view.page.locator("#attempts > summary").click()

    assert faults(view, [1440, 390]) == []


def test_what_is_open_focused_and_selected_stays_over_twenty_updates(
    window: OpenWindow, trained: Job, clock: Clock
) -> None:
    view = window().sign_in("owner")
    page = view.page
    page.goto(f"/jobs/{trained.pk}/")
    page.locator("#attempts > summary").click()
    page.get_by_role("link", name="Last hour").focus()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.job-side h2'))")
    selected = page.evaluate("String(getSelection())")

    for number in range(20):
        transitions.record_event(
            trained, "repaired", now=clock.forward(seconds=15), message=f"Repaired {number}.", once_key=f"r{number}"
        )
        with page.expect_response(lambda answer: "/live/" in answer.url and answer.status == 200):
            page.evaluate(UPDATE)

    expect(page.get_by_text("Repaired 19.")).to_be_visible()
    assert page.locator("#attempts").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.textContent") == "Last hour"
    assert page.evaluate("String(getSelection())") == selected != ""


def test_a_message_goes_when_what_it_was_about_has_changed(window: OpenWindow, owner: User, clock: Clock) -> None:
    page = window().sign_in("owner").page
    page.clock.install()
    page.goto("/jobs/new/?example=1")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
    message, job = page.locator("main > .notice"), Job.objects.get()

    for number, seconds in enumerate((1, 11)):
        expect(message).to_have_count(1)
        transitions.record_event(
            job, "repaired", now=clock.forward(seconds=15), message=f"Repaired {number}.", once_key=f"r{number}"
        )
        page.clock.fast_forward(1_000 * seconds)
        page.evaluate(UPDATE)
        expect(page.get_by_text(f"Repaired {number}.")).to_be_visible()

    expect(message).to_have_count(0)


def test_it_is_whole_without_javascript(window: OpenWindow, trained: Job) -> None:
    view = window(java_script_enabled=False)
    page = view.page
    page.goto("/accounts/login/")
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill(view.password)
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"/jobs/{trained.pk}/")
    page.get_by_label("Find in log").fill("epoch 10/")
    page.get_by_role("button", name="Show").click()

    expect(page.locator("#log p[id]")).to_have_count(1)
    expect(page.locator(".curve.metric").first).to_be_visible()


def test_a_browser_whose_clock_is_wrong_shows_the_same_times(window: OpenWindow, trained: Job) -> None:
    view = window().sign_in("owner")
    view.page.clock.install(time=datetime(2031, 1, 1, tzinfo=UTC))
    view.page.goto(f"/jobs/{trained.pk}/")

    expect(view.page.locator(".sentence")).to_contain_text("ends about 13:02 UTC")
    expect(view.page.locator("main")).not_to_contain_text(re.compile(r"\b2031\b"))


def test_a_line_that_was_linked_is_marked(window: OpenWindow, make_job: MakeJob, clock: Clock) -> None:
    job = make_job("running")
    lines = [
        LogLine.objects.create(
            job=job, timestamp=clock.forward(seconds=1), insert_id=str(number), replica="workerpool0-0",
            severity="INFO", message=f"line {number}",
        )
        for number in range(300)
    ]  # fmt: skip
    page = window().sign_in("owner").page
    page.goto(f"/jobs/{job.pk}/?line={lines[20].pk}#l{lines[20].pk}")

    expect(page.locator(f"#l{lines[20].pk}")).to_be_in_viewport()
