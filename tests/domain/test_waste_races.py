"""Tests of races between the answer to "Still working?" and the cancellation: one of the two wins, never both."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs import transitions
from jobs.models import Job, JobHealth
from jobs.observation import health_policy
from jobs.requests.declared_fine import declare_fine
from jobs.timeline import warning_of
from tests.domain.conftest import RequestJob
from tests.domain.test_row_locks import meanwhile
from tests.support.clock import Clock
from tests.support.run_rows import make_stuck

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
IS_POSTGRES = connection.vendor == "postgresql"
HOUR = timedelta(hours=1)
RACES = 40 if IS_POSTGRES else 10


def asked(request_job: RequestJob, clock: Clock) -> Job:
    """Return a running job that is stuck and whose owner was asked two hours ago."""
    job = request_job()
    for state in ("submitting", "queued", "running"):
        transitions.transition(job, state, now=clock.now, message=state, remote_name=f"projects/p/customJobs/{job.pk}")
    make_stuck(job, clock.now)
    JobHealth.objects.filter(job=job).update(asked_at=clock.now - 2 * HOUR, answer_hours=2)
    return Job.objects.select_related("health", "team").get(pk=job.pk)


def cancel(job: Job, clock: Clock) -> None:
    warning = warning_of(job, clock.now)
    assert warning is not None
    assert warning.asked_at is not None
    health_policy._cancel(job, warning.asked_at, warning, clock.now)


def test_an_answer_or_the_cancellation_wins(request_job: RequestJob, owner: User, clock: Clock) -> None:
    barrier = Barrier(2)

    def answer(job: Job) -> bool:
        barrier.wait()
        return declare_fine(Job.objects.get(pk=job.pk), by=owner, now=clock.now)

    def end(job: Job) -> bool:
        own = Job.objects.select_related("health", "team").get(pk=job.pk)
        barrier.wait()
        cancel(own, clock)
        return True

    def close() -> None:
        barrier.wait()
        connection.close()

    with ThreadPoolExecutor(2) as pool:
        for _ in range(RACES):
            job = asked(request_job, clock)
            answered, _ended = pool.submit(answer, job), pool.submit(end, job).result()
            job.refresh_from_db()
            assert answered.result() is (job.cancel_requested_at is None)
            kinds = list(
                job.events.filter(kind__in=("declared_fine", "cancel_requested")).values_list("kind", flat=True)
            )
            assert kinds == ["declared_fine" if answered.result() else "cancel_requested"]
        list(pool.map(lambda _: close(), range(2)))


@pytest.mark.skipif(not IS_POSTGRES, reason="SQLite locks no rows")
def test_no_cancellation_follows_an_answer_that_it_waited_for(request_job: RequestJob, clock: Clock) -> None:
    job = asked(request_job, clock)
    rows = JobHealth.objects.filter(job=job)
    meanwhile(rows, lambda: rows.update(asked_at=None, fine_until=clock.now + HOUR), lambda: cancel(job, clock))
    job.refresh_from_db()
    assert job.cancel_requested_at is None


@pytest.mark.skipif(not IS_POSTGRES, reason="SQLite locks no rows")
def test_no_answer_follows_a_cancellation_that_it_waited_for(
    request_job: RequestJob, owner: User, clock: Clock
) -> None:
    job = asked(request_job, clock)
    rows = JobHealth.objects.filter(job=job)
    assert not meanwhile(rows, lambda: cancel(job, clock), lambda: declare_fine(job, by=owner, now=clock.now))


@pytest.mark.skipif(not IS_POSTGRES, reason="SQLite locks no rows")
def test_a_job_that_has_another_event_meanwhile_is_not_cancelled(request_job: RequestJob, clock: Clock) -> None:
    job = asked(request_job, clock)
    rows, other = Job.objects.filter(pk=job.pk), Job.objects.get(pk=job.pk)

    def start_again() -> None:
        transitions.record_event(other, "restarted", now=clock.now, message="Preempted.", once_key="again")

    meanwhile(rows, start_again, lambda: cancel(job, clock))
    job.refresh_from_db()
    assert job.cancel_requested_at is None
