"""Tests of a job that costs more than approved: shown on its page and the board; an admin sets the consequence."""

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, Policy, Team
from jobs.observation.record import mark_seen
from jobs.upkeep import watch_spending
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def overrun(make_job: MakeJob, clock: Clock) -> Job:
    """A running job that was allowed up to four dollars and has cost more."""
    job = make_job("running")
    mark_seen([job.pk], now=clock.forward(hours=5))
    assert watch_spending(clock.now) == 1
    return job


def test_is_said_on_the_page_and_on_the_board(overrun: Job, teammate: User, signed_in: SignIn) -> None:
    browser = signed_in(teammate)

    assert "The job has cost more than the approved $4.00" in text_of(browser.get(f"/jobs/{overrun.pk}/"))
    assert "more than the approved $4.00" in text_of(browser.get(f"/jobs/{overrun.pk}/"))
    assert "over the approved $4.00" in text_of(browser.get("/"))


def test_is_not_said_of_a_job_within_its_amount(make_job: MakeJob, teammate: User, signed_in: SignIn) -> None:
    job = make_job("running")
    page = text_of(signed_in(teammate).get(f"/jobs/{job.pk}/"))

    assert "It costs more than" not in page
    assert "Allowed without approval up to $4.00" in page


def test_a_stranger_learns_nothing(overrun: Job, stranger: User, signed_in: SignIn) -> None:
    browser = signed_in(stranger)

    assert browser.get(f"/jobs/{overrun.pk}/").status_code == 404
    assert "over the approved" not in text_of(browser.get("/?who=all"))


def test_an_admin_lets_such_jobs_be_cancelled(team: Team, admin: User, signed_in: SignIn) -> None:
    row = Policy.objects.get(team=team)
    values = {
        "team": team.pk,
        "ask_over_usd": "5",
        "refuse_over_usd": "",
        "regions": "[]",
        "cancel_over_approved": "on",
    }

    assert signed_in(admin).post(f"/admin/jobs/policy/{row.pk}/change/", values).status_code == 302

    row.refresh_from_db()
    assert row.cancel_over_approved
