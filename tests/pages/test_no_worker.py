"""Tests of what the page of a job says while no worker sends jobs to Vertex AI."""

import pytest
from django.contrib.auth.models import User

from jobs import steps
from jobs.clock import DatabaseClock
from jobs.upkeep.heartbeats import record_heartbeat
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

NO_WORKER = "No worker takes the next step"


@pytest.mark.parametrize(
    ("queues", "seconds", "is_told"),
    [((), 60, True), (("celery", "messages"), 60, True), (("sending",), 60, False), ((), 20, False)],
)
def test_says_that_no_worker_sends_the_job(
    make_job: MakeJob,
    owner: User,
    stranger: User,
    signed_in: SignIn,
    clock: Clock,
    queues: tuple[str, ...],
    seconds: int,
    is_told: bool,
) -> None:
    job = make_job("approved")
    clock.forward(seconds=seconds)
    record_heartbeat("worker@here:1", "worker", queues=queues, now=clock.now)
    address = f"/jobs/{job.pk}/"

    text = text_of(signed_in(owner).get(address))

    assert (NO_WORKER in text) is is_told
    assert ("A worker sends the job to Vertex AI within seconds." in text) is not is_told
    assert signed_in(stranger).get(address).status_code == 404


def test_says_that_no_worker_sends_the_cancellation(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    job = make_job("running")
    assert NO_WORKER not in text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))
    assert steps.cancel(job, by=owner, clock=DatabaseClock())
    clock.forward(seconds=60)

    assert NO_WORKER in text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))
