"""Tests of the board in Chromium: dense, usable by keyboard alone, and undisturbed by its updates."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from jobs import transitions
from jobs.models import Job
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support import waiting
from tests.support.accessibility import faults
from tests.support.clock import Clock

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser


def update(page: Page, clock: Clock) -> None:
    """Let the board draw itself anew."""
    with page.expect_response(lambda answer: answer.request.headers.get("hx-request") == "true"):
        clock.forward(seconds=61)
        page.evaluate("htmx.ajax('GET', '/', {source: '#live', target: '#live', swap: 'morph'})")
    page.wait_for_timeout(50)


def test_has_fourteen_rows_on_a_laptop(window: OpenWindow, make_job: MakeJob, owner: User) -> None:
    for number in range(30):
        make_job(("queued", "running")[number % 2], name=f"job-{number}")
    page = window(viewport={"width": 1440, "height": 900}).sign_in("owner").page

    bottoms = page.evaluate(
        "[...document.querySelectorAll('[data-row]')].map(row => row.getBoundingClientRect().bottom)"
    )
    visible = sum(bottom <= 900 for bottom in bottoms)

    assert visible >= 14


def test_what_is_open_ticked_focused_and_selected_survives_twenty_updates(
    window: OpenWindow,
    make_job: MakeJob,
    owner: User,
    clock: Clock,
) -> None:
    jobs = [make_job("running", name=f"job-{number}") for number in range(4)]
    page = window().sign_in("owner").page
    page.locator(f"#row-{jobs[1].pk} input").check()
    page.get_by_text("Save view").click()
    page.get_by_label("Name of the view").fill("half a na")
    page.locator(f"#job-{jobs[2].pk}").focus()
    page.evaluate(
        "getSelection().setBaseAndExtent(document.querySelector('caption').firstChild, 0,"
        " document.querySelector('caption').firstChild, 4)"
    )

    for number in range(20):
        if number == 10:
            transitions.transition(jobs[0], "succeeded", now=clock.now, message="It succeeded.")
        update(page, clock)

    expect(page.locator(f"#row-{jobs[0].pk}")).to_contain_text("SUCCEEDED")
    assert page.title() == "Board · Trainboard"
    transitions.transition(jobs[3], "failed", now=clock.now, message="It failed.")
    update(page, clock)
    assert page.title() == "(1) Board · Trainboard"
    expect(page.locator(f"#row-{jobs[1].pk} input")).to_be_checked()
    expect(page.locator("#board-save")).to_have_attribute("open", "")
    expect(page.get_by_label("Name of the view")).to_have_value("half a na")
    expect(page.locator(f"#job-{jobs[2].pk}")).to_be_focused()
    assert page.evaluate("getSelection().toString()") == "Jobs"


def test_the_way_from_sign_in_to_cancel_needs_no_mouse(
    window: OpenWindow,
    make_job: MakeJob,
    owner: User,
) -> None:
    jobs = [make_job("queued", name=f"job-{number}") for number in range(3)]
    view = window()
    page = view.page
    page.goto("/accounts/login/")
    page.keyboard.type("owner") if page.evaluate("document.activeElement.id") == "id_username" else page.get_by_label(
        "User name"
    ).press_sequentially("owner")
    page.keyboard.press("Tab")
    page.keyboard.type(view.password)
    page.keyboard.press("Enter")
    page.locator("[data-row]").first.wait_for()
    page.wait_for_load_state()

    page.keyboard.press("j")
    page.keyboard.press("j")
    name = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Cancel ")).to_be_visible()
    while page.evaluate("document.activeElement.textContent.trim()") != "Cancel the job":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.get_by_role("status").filter(has_text=f"Cancellation of {name} requested")).to_be_visible()
    assert [job.display_name for job in Job.objects.exclude(cancel_requested_at=None)] == [name]
    assert name in {job.display_name for job in jobs}


def test_shortcuts_are_listed_and_can_be_turned_off(window: OpenWindow, make_job: MakeJob, owner: User) -> None:
    make_job("running")
    page = window().sign_in("owner").page

    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    page.get_by_label("Use single keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.press("/")

    assert page.url.endswith("/")
    assert page.evaluate("document.activeElement.id") != "search"
    page.keyboard.press("?")
    page.get_by_label("Use single keys").check()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("njkx?")
    expect(page.locator("#search")).to_have_value("njkx?")


def test_ctrl_k_jumps_to_a_page_or_a_job(window: OpenWindow, make_job: MakeJob, owner: User) -> None:
    found = make_job("failed", name="resnet-deep")
    make_job("running", name="resnet-wide")
    view = window().sign_in(owner.username)
    page, keys = view.page, view.page.keyboard

    keys.press("Control+k")
    dialog = page.get_by_role("dialog", name="Jump to a page or a job")
    keys.type("machines and")
    expect(dialog.get_by_role("link")).to_have_text(["Machines and prices"])
    keys.press("Enter")
    page.wait_for_url("**/catalogue/")  # and until its scripts have run

    keys.press("Control+k")
    keys.type("resnet state:failed")
    expect(dialog.get_by_role("link")).to_have_count(1)
    assert not faults(view)
    keys.press("ArrowDown")
    keys.press("Enter")
    page.wait_for_url(f"**/jobs/{found.pk}/")

    keys.press("Control+k")
    keys.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_search_offers_the_words_that_complete_it(window: OpenWindow, make_job: MakeJob, owner: User) -> None:
    make_job("failed", name="resnet-deep")
    view = window().sign_in(owner.username)
    page, offered = view.page, view.page.locator("#search-words option")

    for path, box in (("/", "#search"), ("/history/", "#id_q"), ("/spend/", "#search")):
        page.goto(path)
        page.locator(box).focus()
        page.keyboard.type("resnet state:fai")
        expect(offered).to_have_count(2)
        expect(offered.first).to_have_attribute("value", "resnet state:failed")
    assert not faults(view)


def test_a_lost_connection_is_said_and_recovers(
    window: OpenWindow,
    make_job: MakeJob,
    owner: User,
    clock: Clock,
) -> None:
    job = make_job("running")
    view = window()
    page = view.sign_in("owner").page
    mark = page.locator("[data-live-mark]")

    view.context.set_offline(True)
    expect(mark).to_have_text(re.compile("no connection since"), timeout=15_000)
    view.context.set_offline(False)
    transitions.transition(job, "succeeded", now=clock.forward(seconds=61), message="It succeeded.")

    expect(mark).to_have_text(re.compile(r"live \d\d:\d\d:\d\d"), timeout=15_000)
    expect(page.locator(f"#row-{job.pk}")).to_contain_text("SUCCEEDED", timeout=15_000)
    view.troubles.clear()  # the browser itself logs each request that failed


def test_the_theme_is_chosen_and_kept(window: OpenWindow, make_job: MakeJob, owner: User) -> None:
    make_job("running")
    page = window(color_scheme="light").sign_in("owner").page
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)

    page.locator(".menu.account summary").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_load_state()

    assert page.evaluate(background) != light
    page.goto("/history/")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_says_that_a_search_is_under_way_and_not_that_it_renews_itself(window: OpenWindow, make_job: MakeJob) -> None:
    make_job("running", name="alpha")
    page = window().sign_in("owner").page
    asked: list[Route] = []
    page.route(re.compile(r"/\?"), lambda route: asked.append(route))

    def line() -> list[str]:
        """Return what stands at the top of the window: its content, and whether it is to be seen."""
        style = "getComputedStyle(document.body, '::after')"
        found: list[str] = page.evaluate(f"[{style}.content, {style}.visibility]")
        return found

    page.evaluate("() => { htmx.ajax('GET', '/?again=1', {source: '#live'}).catch(() => {}) }")
    expect(page.locator("#live.htmx-request")).to_be_attached()
    assert line()[0] == "none"

    page.locator("#search").fill("alpha")
    waiting.until(lambda: line() == ['""', "visible"], seconds=10, what="the line is shown")
    for route in asked:
        route.continue_()
    waiting.until(lambda: line()[0] == "none", seconds=10, what="the line is gone")
