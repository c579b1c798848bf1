"""Tests of studies and followed logs in a real browser: accessible, fitting, new lines inserted without a reload."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs.models import Job, Trial
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import faulty
from tests.support.clock import Clock
from tests.support.written_log import Log

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser


@pytest.fixture
def study(make_job: MakeJob, clock: Clock) -> Job:
    """A running study with trials in every state, and a parameter with a long name."""
    job = make_job("running", kind="hyperparameter_tuning_job", hours=0.01, trials=6, parallel=1)
    values: list[float | None] = [0.5, None, 0.9, 0.7, None]
    for number, value in enumerate(values, 1):
        state = "SUCCEEDED" if value is not None else "INFEASIBLE" if number == 2 else "ACTIVE"
        Trial.objects.create(
            job=job, trial_id=str(number), state=state, metrics={} if value is None else {"accuracy": value},
            parameters={"learning-rate": number / 1000, "units-of-the-widest-hidden-layer": 2**number},
            started_at=clock.now, ended_at=clock.now + timedelta(minutes=3) if state != "ACTIVE" else None,
            job_states=[["queued", clock.now.isoformat()]] if number == 5 else None,
            infeasible_reason="The replica workerpool0-0 exited with a non-zero status of 1." if number == 2 else "",
        )  # fmt: skip
    return job


def test_a_study_and_a_log_of_attempts_are_accessible_and_fit(
    window: OpenWindow, study: Job, restarted: Log, owner: User
) -> None:
    Job.objects.filter(pk=restarted.job.pk).update(log_sources={"4711": ""}, log_kept_from=restarted.at(5))
    view = window().sign_in("owner")
    addresses = [f"/studies/{study.pk}/", f"/jobs/{study.pk}/", f"/jobs/{restarted.job.pk}/?attempt=2"]

    assert faulty(view, addresses) == {}


def test_new_lines_stand_in_their_place_without_a_reload(window: OpenWindow, log: Log, owner: User) -> None:
    log.write(1, "one")
    log.write(3, "three")
    view = window().sign_in("owner")
    view.page.goto(f"/jobs/{log.job.pk}/")
    lines = view.page.locator(".tail p[id]")
    expect(lines).to_have_text(["09:00:41 one", "09:00:43 three"])
    view.page.evaluate("document.querySelector('#log').marked = true")

    log.write(2, "two")
    log.write(4, "four")

    expect(lines).to_have_text(["09:00:41 one", "09:00:42 two", "09:00:43 three", "09:00:44 four"], timeout=15_000)
    assert view.page.evaluate("document.querySelector('#log').marked"), "only lines were added"

    log.restart(3.5)
    expect(view.page.locator(".tail .turn")).to_have_text(
        ["Attempt 1", "Attempt 2 — machine preempted (Spot)"], timeout=15_000
    )


def test_an_attempt_is_chosen_without_a_reload(window: OpenWindow, restarted: Log, owner: User) -> None:
    view = window().sign_in("owner")
    view.page.goto(f"/jobs/{restarted.job.pk}/")

    view.page.get_by_label("Attempt", exact=True).select_option("2")
    expect(view.page.locator(".tail p[id]")).to_have_count(3)
    view.page.get_by_label("Replica", exact=True).select_option("workerpool1-0")

    expect(view.page.locator(".tail p[id]")).to_have_text(["09:05:51 batch b"])
    assert view.page.url.endswith(f"/jobs/{restarted.job.pk}/?replica=workerpool1-0&attempt=2")
