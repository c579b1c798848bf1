"""Tests of the compose page in Chromium: strategies, the bar at the bottom, text editing, the keyboard."""

import re

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import Page, Response, Route, expect

from jobs.models import Job
from tests.conftest import PASSWORD
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.pages.test_strategies_table import ended
from tests.support.accessibility import faults
from tests.support.clock import Clock

pytestmark = pytest.mark.browser
__all__ = ["chromium", "window"]


@pytest.fixture
def ended_spot_jobs(owner: User, make_job: MakeJob, clock: Clock) -> None:
    ended(make_job, clock, strategy="spot", minutes=[20, 150] * 6)


def is_covered(page: Page) -> bool:
    """Return whether the bottom bar covers the focused control, or the first lines of a long text."""
    return bool(
        page.evaluate(
            """() => {
              const focused = document.activeElement, bar = document.querySelector(".foot");
              if (focused === document.body || bar.contains(focused)) return false;
              const box = focused.getBoundingClientRect();
              return Math.min(box.bottom, box.top + 120) > bar.getBoundingClientRect().top;
            }"""
        )
    )


@pytest.mark.parametrize("width", [1440, 390, 320])
def test_errors_are_listed_first_and_every_look_is_accessible(window: OpenWindow, owner: User, width: int) -> None:
    view = window(viewport={"width": width, "height": 800})
    view.expected_statuses = {422}
    page = view.sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Display name", exact=True).fill("<b>\u202eشبكة" + "🙂" * 128)
    page.get_by_label("Output folder").fill("vision/clip")
    page.get_by_label("Flex-start").check()
    expect(page.locator("#verdict")).to_contain_text("3 errors")
    found = faults(view, [width])
    view.wait_until_quiet()  # a request that is cut off by Submit is an error in the console

    page.get_by_role("button", name="Submit").click()

    expect(page.locator("#errors")).to_be_focused()
    expect(page).to_have_title("3 errors · New job · Trainboard")
    assert found + faults(view, [width]) == []
    page.locator("#errors a", has_text="Output folder").click()
    expect(page.get_by_label("Output folder")).to_be_focused()
    assert not is_covered(page)


def test_form_and_strategies_stand_beside_each_other_on_a_wide_screen(window: OpenWindow, owner: User) -> None:
    page = window(viewport={"width": 1440, "height": 900}).sign_in("owner").page
    page.goto("/jobs/new/?example=penguins")

    name, heading = page.get_by_label("Display name", exact=True), page.locator("#part-strategies")
    form, strategies = name.bounding_box(), heading.bounding_box()

    assert form is not None
    assert strategies is not None
    assert form["x"] + form["width"] <= strategies["x"]
    assert abs(form["y"] - strategies["y"]) < 100


def test_the_bar_covers_no_control_that_has_the_focus(window: OpenWindow, owner: User) -> None:
    page = window(viewport={"width": 390, "height": 700}).sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Display name", exact=True).focus()

    for _ in range(40):
        page.keyboard.press("Tab")
        assert not is_covered(page), page.evaluate("document.activeElement.outerHTML.slice(0, 200)")


def test_text_and_form_follow_each_other(window: OpenWindow, owner: User) -> None:
    view = window().sign_in("owner")
    page = view.page
    page.goto("/jobs/new/?example=1")
    text = page.get_by_role("textbox", name="Request")
    text.focus()
    text.fill(text.input_value().replace('"40"', '"41"').replace('"SPOT"', '"STANDARD"'))

    expect(page.get_by_label("Arguments")).to_have_value("--epochs 41 --seconds-per-epoch 1")
    expect(page.get_by_label("Standard")).to_be_checked()
    expect(text).to_be_focused()
    # An answer to a check leaves the text alone that somebody is in, and what is known of it too.
    view.wait_until_quiet()
    with page.expect_response("**/check/"):
        page.evaluate("document.getElementById('compose').dispatchEvent(new Event('change'))")
    view.wait_until_quiet()
    page.get_by_label("Arguments").fill("--epochs 42")

    expect(text).to_have_value(re.compile('"42"'))


def test_a_text_that_cannot_be_read_is_kept_while_one_goes_on(window: OpenWindow, owner: User) -> None:
    page = window().sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.get_by_role("textbox", name="Request").fill("{")
    expect(page.locator("#request-finds")).to_contain_text("error:")

    with page.expect_response("**/check/"):
        page.get_by_label("Arguments").fill("--epochs 42")

    expect(page.get_by_role("textbox", name="Request")).to_have_value("{")


def test_a_job_is_requested_with_the_keyboard_alone(window: OpenWindow, owner: User) -> None:
    page = window().sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Spot").focus()
    with page.expect_response("**/check/"):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Flex-start")).to_be_checked()
    expect(page.locator("#price")).to_contain_text("Flex-start")

    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "submit":
            break
    page.keyboard.press("Enter")

    page.wait_for_url("**/jobs/*-*/")
    assert Job.objects.get().strategy == "flex_start"


def test_goes_on_without_javascript(window: OpenWindow, owner: User) -> None:
    page = window(java_script_enabled=False).sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    text = page.get_by_role("textbox", name="Request")
    text.fill(text.input_value().replace('"40"', '"41"'))

    page.get_by_role("button", name="Fill the form from it").click()
    expect(page.get_by_label("Arguments")).to_have_value("--epochs 41 --seconds-per-epoch 1")
    page.get_by_role("button", name="Submit").click()

    page.wait_for_url("**/jobs/*-*/")
    assert "41" in str(Job.objects.get().spec)


def test_back_reload_and_a_sign_out_lose_nothing(window: OpenWindow, owner: User) -> None:
    view = window().sign_in("owner")
    page = view.page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Expected run time").fill("soon")
    expect(page.locator("#draft")).to_contain_text("Draft saved")
    page.get_by_role("textbox", name="Request").press_sequentially(" ")
    with page.expect_response("**/draft/"):
        page.get_by_role("textbox", name="Request").press_sequentially(" ")
    page.reload()
    expect(page.get_by_label("Expected run time")).to_have_value("soon")

    page.goto("/history/")
    page.go_back()
    expect(page.get_by_label("Expected run time")).to_have_value("soon")
    view.context.clear_cookies()
    view.sign_in("owner")
    page.goto("/jobs/new/")
    page.get_by_text("1 draft not submitted yet").click()
    page.get_by_role("link", name="penguins-").click()

    expect(page.get_by_label("Expected run time")).to_have_value("soon")


def test_a_second_tab_says_that_it_is_not_saved(window: OpenWindow, owner: User) -> None:
    view = window().sign_in("owner")
    first = view.page
    first.goto("/jobs/new/?example=1")
    first.get_by_label("Display name", exact=True).fill("first")
    expect(first.locator("#draft")).to_contain_text("Draft saved")
    second = view.context.new_page()
    second.goto(first.url)
    with second.expect_response("**/draft/"):
        second.get_by_label("Display name", exact=True).fill("second")

    first.get_by_label("Display name", exact=True).fill("third")

    expect(first.locator("#draft")).to_contain_text("in another window")


def test_a_wrong_clock_in_the_browser_changes_nothing(window: OpenWindow, owner: User) -> None:
    view = window(timezone_id="Pacific/Kiritimati")
    view.page.clock.install(time="2001-01-01T00:00:00Z")
    page = view.sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Arguments").fill("--epochs 42")
    page.clock.run_for(5000)

    expect(page.locator("#draft")).to_contain_text("Draft saved 09:00:0")


def test_run_time_and_timeout_are_those_of_a_trial_as_soon_as_the_job_tunes(window: OpenWindow, owner: User) -> None:
    page = window(viewport={"width": 1280, "height": 800}).sign_in("owner").page
    page.goto("/jobs/new/")

    page.get_by_label("Tuning").first.check()

    expect(page.get_by_role("textbox", name="Run time per trial", exact=True)).to_have_value("1 h")
    expect(page.get_by_role("textbox", name="Timeout per trial", exact=True)).to_be_visible()
    expect(page.get_by_role("textbox", name="Expected run time")).to_have_count(0)


def test_what_is_typed_after_the_session_has_ended_is_a_draft_after_the_sign_in(
    window: OpenWindow, owner: User
) -> None:
    view = window(viewport={"width": 1280, "height": 800}).sign_in("owner")
    page = view.page
    page.goto("/jobs/new/")
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)

    page.get_by_label("Display name", exact=True).fill("typed too late")
    page.wait_for_url("**/accounts/login/**")
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_label("Display name", exact=True)).to_have_value("typed too late")
    expect(page.locator("#draft")).to_contain_text("Draft saved")


def test_what_somebody_else_typed_in_the_tab_becomes_no_draft(window: OpenWindow, owner: User, approver: User) -> None:
    page = window(viewport={"width": 1280, "height": 800}).sign_in("owner").page
    page.goto("/jobs/new/")
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.get_by_label("Display name", exact=True).fill("of the owner")
    page.wait_for_url("**/accounts/login/**")

    page.get_by_label("User name").fill("approver")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/jobs/new/")
    page.wait_for_load_state("networkidle")

    expect(page.get_by_label("Display name", exact=True)).to_have_value("")
    assert page.evaluate("sessionStorage.getItem('compose-unsaved')") is None


def test_a_tab_keeps_nothing_of_a_form_after_it_was_submitted(window: OpenWindow, owner: User) -> None:
    page = window(viewport={"width": 1280, "height": 800}).sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.wait_for_load_state("networkidle")
    page.evaluate("keep()")
    assert "penguins" in page.evaluate("sessionStorage.getItem('compose-unsaved')")

    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))

    assert page.evaluate("sessionStorage.getItem('compose-unsaved')") is None


def test_a_form_older_than_the_last_sign_in_keeps_what_is_typed(window: OpenWindow, owner: User) -> None:
    view = window(viewport={"width": 1280, "height": 800})
    view.expected_statuses = {403}
    page = view.sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies(name="csrftoken")

    page.get_by_label("Display name", exact=True).fill("typed before")
    page.wait_for_url("**/jobs/new/?form=*")

    expect(page.get_by_label("Display name", exact=True)).to_have_value("typed before")


def test_a_form_that_was_not_sent_is_opened_again_as_it_was(window: OpenWindow, owner: User) -> None:
    view = window(viewport={"width": 1280, "height": 800})
    view.expected_statuses = {403}
    page = view.sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    with page.expect_response("**/jobs/new/check/"):  # what is typed is checked before the cookie goes
        page.get_by_label("Display name", exact=True).fill("typed before")
    expect(page.locator("#draft")).to_contain_text("Draft saved")
    page.context.clear_cookies(name="csrftoken")
    checks: list[Route] = []
    submissions: list[Route] = []

    def hold(route: Route, held: list[Route]) -> None:
        held.append(route)
        if checks and submissions:  # the check is refused while the form is on its way
            checks.pop().continue_()

    def release(answer: Response) -> None:
        if answer.url.endswith("/check/") and submissions:  # typing and leaving a field may each send a check
            submissions.pop().continue_()

    page.route("**/jobs/new/check/", lambda route: hold(route, checks))
    page.route("**/jobs/new/", lambda route: hold(route, submissions), times=1)
    page.on("response", release)

    page.get_by_role("button", name="Submit").click(no_wait_after=True)
    page.get_by_role("link", name="Open the form again").click()

    expect(page.get_by_label("Display name", exact=True)).to_have_value("typed before")


def test_a_new_form_has_the_focus_in_its_first_field(window: OpenWindow, owner: User) -> None:
    page = window().sign_in("owner").page
    page.keyboard.press("n")
    page.wait_for_url("**/jobs/new/")
    expect(page.get_by_label("Display name", exact=True)).to_be_focused()


def test_a_form_stays_while_the_site_does_not_answer(window: OpenWindow, owner: User) -> None:
    view = window().sign_in("owner")
    page, unsent = view.page, view.page.get_by_text("Trainboard does not answer")
    page.goto("/jobs/new/?example=penguins")
    page.get_by_label("Display name", exact=True).fill("typed in a gap")
    expect(unsent).to_be_hidden()

    view.context.set_offline(True)
    page.get_by_role("button", name="Submit").click()
    expect(unsent).to_be_visible()
    expect(page.get_by_label("Display name", exact=True)).to_have_value("typed in a gap")
    view.context.set_offline(False)
    page.get_by_role("button", name="Submit").click()

    expect(page.get_by_role("heading", name="typed in a gap")).to_be_visible()
    assert Job.objects.get().display_name == "typed in a gap"
    view.troubles.clear()  # the browser itself logs each request that failed


def test_what_is_submitted_without_javascript_after_the_session_has_ended_is_a_draft(
    window: OpenWindow, owner: User
) -> None:
    page = window(java_script_enabled=False).sign_in("owner").page
    page.goto("/jobs/new/?example=penguins")
    page.get_by_label("Display name", exact=True).fill("typed too late")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)

    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("What you typed is kept as a draft")).to_be_visible()
    page.get_by_label("User name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_label("Display name", exact=True)).to_have_value("typed too late")


@pytest.mark.parametrize("width", [1440, 1280, 1024])
def test_a_wait_and_its_range_take_one_line_each(window: OpenWindow, ended_spot_jobs: None, width: int) -> None:
    page = window(viewport={"width": width, "height": 900}).sign_in("owner").page
    page.goto("/jobs/new/?example=penguins")

    cell = page.locator("#strategy-spot-facts > :nth-child(3)")

    expect(cell).to_contain_text("12 jobs")
    expect(cell.locator("small")).to_contain_text("–")
    assert cell.evaluate("each => each.clientHeight") < 50
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1440, 390])
def test_what_is_not_known_is_confirmed_with_a_box(window: OpenWindow, owner: User, width: int) -> None:
    view = window(viewport={"width": width, "height": 900})
    page = view.sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.evaluate(
        """() => {
          const list = document.getElementById("id_pool-0-machine_type");
          list.add(new Option("n1-standrad-4", "n1-standrad-4", true, true));
          list.dispatchEvent(new Event("change", {bubbles: true}));
        }"""
    )

    part = page.locator("#literals")
    expect(part).to_contain_text("Did you mean `n1-standard-4`?")
    expect(page.locator("#verdict")).to_contain_text("1 error")
    found = faults(view, [width])
    part.get_by_role("checkbox").check()

    expect(page.locator("#verdict")).not_to_contain_text("error")
    expect(page.locator("#verdict")).to_contain_text("approval")
    expect(part.get_by_role("checkbox")).to_be_checked()
    assert found + faults(view, [width]) == []
