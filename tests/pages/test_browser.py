"""Tests of pages in Chromium: axe finds nothing, no sideways scrolling on a phone, live parts update."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from jobs import transitions
from jobs.metrics import Record, Series
from jobs.models import Job, JobMetrics, LogLine, Scope
from jobs.upkeep import count_ended
from tests.conftest import PASSWORD
from tests.pages.conftest import MakeJob
from tests.support import browser
from tests.support.accessibility import WIDTHS, faults, faulty
from tests.support.browser import Window
from tests.support.clock import Clock

pytestmark = pytest.mark.browser

OpenWindow = Callable[..., Window]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the module. Playwright runs an event loop in this thread, which Django refuses otherwise."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with browser.running() as chromium:
        yield chromium
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    if before is not None:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture
def window(chromium: Browser, live_server: LiveServer) -> Iterator[OpenWindow]:
    """`window(...)` opens a page at the site; at the end nothing may have gone wrong in it."""
    windows: list[Window] = []

    def open_window(**options: Any) -> Window:
        windows.append(Window(chromium, live_server.url, password=PASSWORD, **options))
        return windows[-1]

    yield open_window
    troubles = [trouble for each in windows for trouble in each.troubles]
    for each in windows:
        each.close()
    assert troubles == []


@pytest.fixture
def addresses(make_job: MakeJob, approver: User, clock: Clock) -> list[str]:
    """Every page, with jobs in every look on it."""
    for state in ("approved", "queued", "cancelling", "succeeded", "cancelled", "JOB_STATE_HIBERNATING"):
        make_job(state, name=f"job-{state}"[:30])
    make_job("queued", name="flex", strategy="FLEX_START", scheduling={"maxWaitDuration": "3600s"})
    failed = make_job("failed", error={"code": 8, "message": "Replicas low on memory: workerpool0."})
    count_ended()
    asked, own = make_job("awaiting_approval"), make_job("awaiting_approval", by=approver)
    running = make_job("running", name="a-name-that-is-long-enough-to-need-a-second-line-on-a-phone" * 2)
    transitions.record_event(
        running, "restarted", now=clock.now, message="Preempted.", once_key="r", reason="preempted"
    )
    for number in range(30):
        message = f"epoch {number} " + "accuracy=0.97 " * 12
        LogLine.objects.create(
            job=running, timestamp=clock.now, insert_id=str(number), severity="INFO", message=message,
            replica="workerpool0-0" if number % 3 else "service",
        )  # fmt: skip
    Scope.objects.create(
        project=running.project,
        region=running.region,
        kind=running.kind,
        failing_since=clock.now,
        last_error="timed out",
    )
    points = [(clock.now.timestamp() + step, step, 1 / (1 + step)) for step in range(9)]
    for each in (running, failed):
        loss = Series("loss", "workerpool0-0", points, last=points[-1])
        JobMetrics.objects.create(job=each, record=Record([loss]).as_json())
    several = "&".join(f"job={job.pk}" for job in (running, failed, asked, own))
    clock.forward(minutes=10)
    return [
        "/", "/?q=nothing", "/history/", "/history/?q=nothing", "/approvals/", "/jobs/new/", "/jobs/new/?example=1",
        *(f"/jobs/{job.pk}/" for job in (running, failed, asked, own)),
        f"/jobs/{running.pk}/?as=table", f"/jobs/{running.pk}/cancel/", "/no-such-page/",
        f"/compare/?{several}",
    ]  # fmt: skip


def test_every_page_is_accessible_and_fits(window: OpenWindow, addresses: list[str]) -> None:
    view = window()
    view.expected_statuses = {404}

    wrong = faulty(view, ["/accounts/login/"])
    view.sign_in("approver")

    assert wrong | faulty(view, addresses) == {}


@pytest.mark.parametrize("width", WIDTHS)
def test_a_refused_form_is_accessible_and_fits(window: OpenWindow, owner: User, width: int) -> None:
    view = window(viewport={"width": width, "height": 800}).sign_in("owner")
    view.expected_statuses = {422}
    page = view.page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Display name", exact=True).fill("x" * 200)
    page.get_by_label("Output folder").fill("not-a-bucket-but-a-very-long-word-without-any-place-to-break" * 3)
    page.get_by_label("Arguments").fill("--name 'open")

    page.get_by_role("button", name="Submit").click()

    expect(page.locator("#errors")).to_be_focused()  # of the answer: a check shows errors too
    assert faults(view, [width]) == []


class TestCompose:
    def test_says_what_it_finds_while_one_types(self, window: OpenWindow, owner: User) -> None:
        page = window().sign_in("owner").page
        page.goto("/jobs/new/?example=1")

        page.get_by_label("Replicas").fill("3")
        expect(page.locator("#id_pool-0-replicas-finds")).to_contain_text("exactly one")
        page.get_by_label("Replicas").fill("1")
        expect(page.locator("#id_pool-0-replicas-finds")).not_to_contain_text("exactly one")
        page.get_by_label("Environment variables").fill("A=1")
        expect(page.locator("#request")).to_contain_text('"name": "A"')
        expect(page.get_by_label("Environment variables")).to_be_focused()

    def test_a_closed_part_says_that_something_was_found_in_it(self, window: OpenWindow, owner: User) -> None:
        page = window().sign_in("owner").page
        page.goto("/jobs/new/?example=1")
        said = "part => getComputedStyle(part, '::after').content"
        advanced = page.locator("summary", has_text="Advanced")
        assert advanced.evaluate(said) == "none"

        page.get_by_text("File systems to mount").click()
        page.get_by_label("NFS shares").fill("10.0.0.2:/data data")

        expect(page.locator("#id_network-finds")).to_contain_text("required")
        assert "something to look at" in advanced.evaluate(said)
        advanced.click()
        assert advanced.evaluate(said) == "none"

    def test_keeps_the_chosen_strategy_and_shows_its_field(self, window: OpenWindow, owner: User) -> None:
        page = window().sign_in("owner").page
        page.goto("/jobs/new/?example=1")
        wait_limit = page.get_by_label("Maximum wait")
        expect(wait_limit).to_be_hidden()

        page.get_by_role("radio", name="Flex-start").check()

        expect(page.locator("#request")).to_contain_text('"FLEX_START"')
        expect(page.get_by_role("radio", name="Flex-start")).to_be_checked()
        expect(wait_limit).to_be_visible()

    def test_shows_only_the_fields_that_apply(self, window: OpenWindow, owner: User) -> None:
        page = window().sign_in("owner").page
        page.goto("/jobs/new/?example=1")
        expect(page.get_by_label("Python module")).to_be_hidden()
        expect(page.get_by_label("Accelerator")).to_be_hidden()

        with page.expect_response("**/check/"):  # a second change would take back the first question
            page.get_by_label("Python package").check()
        page.get_by_label("Machine type").select_option("n1-standard-8")

        expect(page.get_by_label("Python module")).to_be_visible()
        expect(page.get_by_label("Container image")).to_be_hidden()
        expect(page.get_by_label("Accelerator")).to_be_visible()
        expect(page.get_by_label("Accelerator")).to_have_value("")

    @pytest.mark.parametrize("width", WIDTHS)
    def test_a_study_on_two_pools_is_accessible_and_fits(self, window: OpenWindow, owner: User, width: int) -> None:
        view = window(viewport={"width": width, "height": 800})
        page = view.sign_in("owner").page
        page.goto("/jobs/new/?example=1")
        with page.expect_response("**/check/"):
            page.get_by_label("Tuning").first.check()
        page.get_by_role("button", name="Add a worker pool").click()
        page.get_by_role("button", name="Remove worker pool 1").wait_for()
        page.locator("summary", has_text="Advanced").click()

        assert faults(view, [width]) == []

    def test_adds_a_pool_without_losing_what_was_typed(self, window: OpenWindow, owner: User) -> None:
        page = window().sign_in("owner").page
        page.goto("/jobs/new/?example=1")
        with page.expect_response("**/check/"):
            page.get_by_label("Display name", exact=True).fill("kept")

        page.get_by_role("button", name="Add a worker pool").click()

        expect(page.get_by_role("heading", name="Worker pool 1")).to_be_visible()
        expect(page.get_by_label("Display name", exact=True)).to_have_value("kept")
        expect(page.get_by_label("Machine type").nth(1)).to_be_focused()


class TestLiveParts:
    def test_a_job_moves_on_by_itself_until_it_ends(
        self, window: OpenWindow, make_job: MakeJob, owner: User, clock: Clock
    ) -> None:
        job = make_job("running", name="resnet")
        page = window().sign_in("owner").page
        page.goto(f"/jobs/{job.pk}/")
        expect(page.locator(".sentence")).to_contain_text("RUNNING")
        expect(page).to_have_title("RUNNING · resnet · Trainboard")

        transitions.transition(job, "succeeded", now=clock.forward(seconds=9), message="It succeeded.")
        Job.objects.filter(pk=job.pk).update(log_complete=True)

        expect(page.locator(".sentence")).to_contain_text("SUCCEEDED")
        expect(page.locator("#announce")).to_have_text("resnet is SUCCEEDED now.")
        expect(page).to_have_title("SUCCEEDED · resnet · Trainboard")
        expect(page.locator("main [hx-trigger]")).to_have_count(0)

    def test_a_comment_being_typed_survives_the_refresh(
        self, window: OpenWindow, make_job: MakeJob, approver: User, clock: Clock
    ) -> None:
        job = make_job("awaiting_approval")
        page = window().sign_in("approver").page
        page.goto(f"/jobs/{job.pk}/")
        page.get_by_label(re.compile("Reason")).press_sequentially("worth")

        with page.expect_response("**/live/*"):
            clock.forward(minutes=5)
        expect(page.locator(".job-side")).to_contain_text("5 min so far")
        page.keyboard.type(" it")
        page.get_by_role("button", name="Approve up to").click()

        expect(page.get_by_role("status").filter(has_text="Approved")).to_be_visible()
        job.approval.refresh_from_db()
        assert job.approval.comment == "worth it"

    def test_the_board_is_searched_without_a_reload(self, window: OpenWindow, make_job: MakeJob, owner: User) -> None:
        make_job("running", name="alpha")
        make_job("running", name="beta")
        page = window().sign_in("owner").page

        page.get_by_role("combobox", name=re.compile("^Search")).press_sequentially("alp")

        expect(page.get_by_role("row").filter(has_text="beta")).to_have_count(0)
        expect(page.get_by_role("row").filter(has_text="alpha")).to_be_visible()
        assert "q=alp" in page.url

    def test_a_slow_search_is_not_lost_to_the_next_look_at_the_board(
        self, window: OpenWindow, make_job: MakeJob, owner: User
    ) -> None:
        make_job("running", name="alpha")
        make_job("running", name="beta")
        view = window()
        view.page.clock.install()
        page, held = view.sign_in("owner").page, []
        page.route(re.compile(r"//[^/]+/\?.*q=alpha"), lambda route: held.append(route))  # of the board

        page.get_by_role("combobox", name=re.compile("^Search")).fill("alpha")
        page.clock.run_for(5000)
        page.evaluate("fetch('/').then(answer => answer.text())")  # as long as a look at the board takes
        held[0].continue_()

        expect(page.get_by_role("row").filter(has_text="beta")).to_have_count(0)

    def test_the_session_that_ended_leads_to_the_sign_in(
        self, window: OpenWindow, make_job: MakeJob, owner: User
    ) -> None:
        make_job("running")
        view = window().sign_in("owner")

        view.context.clear_cookies()

        view.page.get_by_label("Password").wait_for()
        assert view.page.url.endswith("/accounts/login/?next=/")
