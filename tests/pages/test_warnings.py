"""Tests of warnings about running jobs on the job's page, on the board and in the API."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, JobEvent, JobHealth, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.api import caller
from tests.support.clock import Clock
from tests.support.run_rows import make_stuck

EVIDENCE = "No log line and no step for 2 hours; the usual time between steps is 60 seconds."


@pytest.fixture
def stuck(make_job: MakeJob, clock: Clock) -> Job:
    """A running job that is stuck for two hours, at $6 an hour."""
    job = make_job("running", name="clip")
    Job.objects.filter(pk=job.pk).update(hourly_usd=6)
    clock.forward(hours=2)
    job.refresh_from_db()
    make_stuck(job, clock.now)
    return job


def test_the_page_has_one_line_with_its_evidence_cost_and_actions(
    stuck: Job, owner: User, team: Team, stranger: User, signed_in: SignIn
) -> None:
    page = signed_in(owner).get(f"/jobs/{stuck.pk}/")
    assert f"Stuck (likely): {EVIDENCE} That time has cost about $12.00. Cancel… It is fine" in text_of(page)

    seen = text_of(signed_in(person("viewer", team, "viewer")).get(f"/jobs/{stuck.pk}/"))
    assert f"Stuck (likely): {EVIDENCE} That time has cost about $12.00." in seen
    assert "It is fine" not in seen
    assert "Cancel…" not in seen
    assert signed_in(stranger).get(f"/jobs/{stuck.pk}/").status_code == 404


def test_the_board_marks_the_row_and_only_its_owner_is_needed(
    stuck: Job, owner: User, approver: User, stranger: User, signed_in: SignIn
) -> None:
    mine = text_of(signed_in(owner).get("/?view=needs-me"))
    assert "clip" in mine
    assert "Stuck" in mine
    assert "Stuck" in text_of(signed_in(approver).get("/"))
    assert "clip" not in text_of(signed_in(approver).get("/?view=needs-me"))
    assert "clip" not in text_of(signed_in(stranger).get("/"))


def test_the_api_has_the_warning(stuck: Job, owner: User, stranger: User) -> None:
    warning = caller(owner).get(f"/jobs/{stuck.pk}").json()["warning"]
    assert {name: warning[name] for name in ("code", "is_certain", "evidence", "usd")} == {
        "code": "stuck", "is_certain": False, "evidence": EVIDENCE, "usd": "12.000000",
    }  # fmt: skip
    assert caller(stranger).get(f"/jobs/{stuck.pk}").status_code == 404


def test_it_is_fine_for_six_hours(stuck: Job, owner: User, signed_in: SignIn, clock: Clock) -> None:
    browser = signed_in(owner)
    answer = browser.post(f"/jobs/{stuck.pk}/fine/", follow=True)

    assert "Nothing is reported about clip for 6 hours." in text_of(answer)
    assert "Stuck" not in text_of(browser.get("/"))
    assert caller(owner).get(f"/jobs/{stuck.pk}").json()["warning"] is None
    event = stuck.events.get(kind=JobEvent.Kind.DECLARED_FINE)
    assert event.actor == owner

    clock.forward(hours=6, seconds=1)
    JobHealth.objects.update(assessed_at=clock.now)
    assert "Stuck (likely)" in text_of(browser.get(f"/jobs/{stuck.pk}/"))


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("engineer", 403), ("approver", 403), ("lead", 302)])
def test_only_its_owner_and_leads_declare_it_fine(
    stuck: Job, team: Team, signed_in: SignIn, role: str, status: int
) -> None:
    assert signed_in(person("somebody", team, role)).post(f"/jobs/{stuck.pk}/fine/").status_code == status


def test_nobody_else_declares_it_fine(stuck: Job, stranger: User, signed_in: SignIn) -> None:
    assert signed_in(stranger).post(f"/jobs/{stuck.pk}/fine/").status_code == 404
    assert signed_in(stranger).get(f"/jobs/{stuck.pk}/fine/").status_code == 405
    assert not JobHealth.objects.exclude(fine_until=None).exists()


def test_a_job_that_does_not_run_is_not_declared_fine(make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
    job = make_job("succeeded")
    assert "does not run" in text_of(signed_in(owner).post(f"/jobs/{job.pk}/fine/", follow=True))
    assert not JobHealth.objects.exists()


def test_an_old_fault_is_shown_nowhere(stuck: Job, owner: User, signed_in: SignIn, clock: Clock) -> None:
    clock.forward(seconds=timedelta(hours=1, seconds=1).total_seconds())
    assert "Stuck" not in text_of(signed_in(owner).get(f"/jobs/{stuck.pk}/"))
    assert "Stuck" not in text_of(signed_in(owner).get("/"))
