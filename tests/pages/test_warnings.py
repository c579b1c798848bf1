"""Tests of warnings about running jobs on the job's page, on the board and in the API."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import transitions
from jobs.models import Job, JobEvent, JobHealth, Team
from jobs.timeline import CANCELLED_FOR
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
    assert f"Stuck (likely): {EVIDENCE} That time has cost about $12.00. Cancel… It is fine For longer…" in text_of(
        page
    )

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
    assert signed_in(stranger).get(f"/jobs/{stuck.pk}/fine/").status_code == 404
    assert not JobHealth.objects.exclude(fine_until=None).exists()


def test_a_job_that_does_not_run_is_not_declared_fine(make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
    job = make_job("succeeded")
    assert "does not run" in text_of(signed_in(owner).post(f"/jobs/{job.pk}/fine/", follow=True))
    assert not JobHealth.objects.exists()


@pytest.fixture
def asked(stuck: Job, clock: Clock) -> Job:
    """A stuck job whose owner was just asked, and which is cancelled in four hours."""
    JobHealth.objects.filter(job=stuck).update(asked_at=clock.now, answer_hours=4)
    return stuck


def test_the_link_of_the_question_decides_nothing(
    asked: Job, owner: User, team: Team, stranger: User, signed_in: SignIn, client: Client
) -> None:
    address = f"/jobs/{asked.pk}/fine/"
    assert client.get(address).headers["Location"] == f"/accounts/login/?next={address}"
    page = text_of(signed_in(owner).get(address))
    assert f"Does clip still work? RUNNING · Stuck (likely) {EVIDENCE}" in page
    assert "If nobody answers, Trainboard cancels it at " in page
    assert "24 hours" in page
    assert "72 hours" not in page

    seen = text_of(signed_in(person("viewer", team, "viewer")).get(address))
    assert "While it runs, its owner and leads of vision answer." in seen
    assert "It is fine" not in seen
    assert "336 hours" in text_of(signed_in(person("lead", team, "lead")).get(address))
    assert signed_in(stranger).get(address).status_code == 404
    assert JobHealth.objects.get().asked_at is not None


def test_the_answer_has_a_time(asked: Job, owner: User, signed_in: SignIn, clock: Clock) -> None:
    browser, address = signed_in(owner), f"/jobs/{asked.pk}/fine/"
    assert "If nobody answers, Trainboard cancels it at" in text_of(browser.get(f"/jobs/{asked.pk}/"))
    for hours in ("25", "0", "-1", "x"):
        assert "Choose a time of at most 24 hours." in text_of(browser.post(address, {"hours": hours}, follow=True))
    answer = browser.post(address, {"hours": "1"}, follow=True)
    assert "Nothing is reported about clip for 1 hour." in text_of(answer)
    row = JobHealth.objects.get()
    assert (row.asked_at, row.fine_until) == (None, clock.now + timedelta(hours=1))


def test_the_api_answers_with_the_scope_of_requests(asked: Job, owner: User, team: Team, stranger: User) -> None:
    path = f"/jobs/{asked.pk}/fine"
    warning = caller(owner).get(f"/jobs/{asked.pk}").json()["warning"]
    assert (warning["asked_at"], warning["cancels_at"]) == ("2026-03-02T11:00:40Z", "2026-03-02T15:00:40Z")
    assert caller(owner, "read").post(path).status_code == 403
    assert caller(owner, "approve").post(path).status_code == 403
    assert caller(person("other", team, "engineer")).post(path).status_code == 403
    assert caller(stranger).post(path).status_code == 404
    for hours in (25, 0, -1, 10**6, "x"):
        assert caller(owner).post(path, {"hours": hours}).status_code == 422
    assert JobHealth.objects.get().fine_until is None

    assert caller(owner).post(path, {"hours": 1.5}).status_code == 200
    assert caller(owner).get(f"/jobs/{asked.pk}").json()["warning"] is None
    Job.objects.filter(pk=asked.pk).update(running_since=None)
    assert caller(owner).post(path).status_code == 409


def test_the_page_says_what_a_cancellation_saved(asked: Job, owner: User, signed_in: SignIn, clock: Clock) -> None:
    detail = {"code": "stuck", "evidence": f"Stuck: {EVIDENCE}", "times_out_at": f"{clock.now + timedelta(hours=4)}"}
    transitions.request_end(asked, now=clock.now, message="Nobody answered.", reason=CANCELLED_FOR, detail=detail)
    browser = signed_in(owner)
    assert "saved" not in text_of(browser.get(f"/jobs/{asked.pk}/")), "it may still run"

    transitions.transition(asked, "cancelled", now=clock.forward(hours=1), message="It was cancelled.")
    page = text_of(browser.get(f"/jobs/{asked.pk}/"))
    assert f"Cancelled without an answer: Stuck: {EVIDENCE} At most $18.00 was saved" in page


def test_the_time_axis_has_a_lane_for_it(stuck: Job, owner: User, signed_in: SignIn, clock: Clock) -> None:
    browser, address = signed_in(owner), f"/jobs/{stuck.pk}/?as=table"
    assert "Warnings" not in text_of(browser.get(address))
    since = (clock.now - timedelta(hours=1)).isoformat()
    transitions.record_event(
        stuck, "warned", now=clock.now, message="Stuck.", once_key="w", reason="stuck",
        detail={"since": since, "asked": True},
    )  # fmt: skip
    page = browser.get(address)
    assert "Warnings Stuck 2 Mar 2026, 10:00:40" in text_of(page)
    assert 'aria-label="Warnings: Stuck 1 h' in page.content.decode()
    assert "may waste money" in text_of(page)


def test_the_history_finds_it(stuck: Job, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn) -> None:
    make_job("running", name="healthy")
    browser = signed_in(owner)
    for word, is_found in (("stuck", True), ("any", True), ("idle", False), ("lost-peer", False), ("cancelled", False)):
        page = text_of(browser.get(f"/history/?q=health:{word}"))
        assert ("clip" in page) is is_found
        assert "healthy" not in page
        assert ("clip" in text_of(browser.get(f"/?q=health:{word}"))) is is_found
    assert "clip" not in text_of(signed_in(stranger).get("/history/?q=health:any"))

    detail = {"evidence": "Stuck."}
    transitions.request_end(stuck, now=stuck.requested_at, message="x", reason=CANCELLED_FOR, detail=detail)
    assert "clip" in text_of(browser.get("/history/?q=health:cancelled"))


def test_an_old_fault_is_shown_nowhere(stuck: Job, owner: User, signed_in: SignIn, clock: Clock) -> None:
    clock.forward(seconds=timedelta(hours=1, seconds=1).total_seconds())
    assert "Stuck" not in text_of(signed_in(owner).get(f"/jobs/{stuck.pk}/"))
    assert "Stuck" not in text_of(signed_in(owner).get("/"))
