"""Tests of what is written with a change of state."""

from datetime import timedelta

import pytest

from jobs import transitions
from jobs.models import JobEvent
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


def test_nothing_is_learned_before_it_happens(request_job: RequestJob, clock: Clock) -> None:
    """A step takes some time, and a state may change after the step began."""
    job, later = request_job(), clock.now + timedelta(seconds=3)

    transitions.record_event(
        job, JobEvent.Kind.STEP_FAILED, now=clock.now, occurred_at=later, message="It took a while.", once_key="a"
    )
    transitions.transition(job, "submitting", now=clock.now, occurred_at=later, message="A worker began.")

    assert [event.recorded_at for event in job.events.order_by("id")][-2:] == [later, later]


def test_what_happened_long_ago_is_learned_now(request_job: RequestJob, clock: Clock) -> None:
    job, before = request_job(), clock.now - timedelta(hours=3)

    transitions.record_event(
        job, JobEvent.Kind.STEP_FAILED, now=clock.now, occurred_at=before, message="It was slow.", once_key="a"
    )

    assert job.events.order_by("id").last().recorded_at == clock.now
