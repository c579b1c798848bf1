"""Tests of the head of a job's page while it is cancelled, and of its cost compared with Standard."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.pages.parts.job_figures import compare_cost
from jobs.models import Job
from jobs.observation.record import mark_seen
from jobs.timeline.resource_holdings import find_submission
from jobs.timeline.trial_time import cost_so_far
from jobs.upkeep import standard_price
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.pages.test_job_training import preempt
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db


def test_the_cost_on_standard_is_billed_in_the_same_increments(make_job: MakeJob, clock: Clock) -> None:
    job = make_job("running")
    began = job.running_since
    assert began is not None
    assert job.hourly_usd is not None
    now = began + timedelta(seconds=31)
    submission = find_submission(job)
    assert submission is not None
    price = standard_price(job, submission)
    assert price is not None

    comparison = compare_cost(job, (), cost_so_far(job, now), now)

    assert comparison.standard == price / 60
    assert comparison.saved_percent == round((price - job.hourly_usd) / price * 100)


def test_a_job_that_is_to_be_cancelled_has_no_expected_end(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    job = make_job("running")
    client = signed_in(owner)
    assert "ends about" in text_of(client.get(f"/jobs/{job.pk}/"))

    Job.objects.filter(pk=job.pk).update(cancel_requested_at=clock.now)

    text = text_of(client.get(f"/jobs/{job.pk}/"))
    assert "RUNNING · the cancellation is on its way · Spot" in text
    assert "ends about" not in text


def test_a_reason_is_set_off_once_from_the_attempt(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    job = make_job("running")
    preempt(job, clock)
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=clock.now)
    mark_seen([job.pk], now=clock.now)

    text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

    assert "RUNNING attempt 2 · the cancellation is on its way · Spot" in text
