"""Tests of races between workers: if several see an attempt end at once, one of them makes the next."""

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs import requests, transitions
from jobs.fallback import Plan, Step
from jobs.models import Fallback, FallbackAttempt, Job, Team
from jobs.requests import fallbacks
from jobs.upkeep.audit import audit
from tests.domain.conftest import RequestJob
from tests.domain.test_row_locks import meanwhile
from tests.support import samples
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
IS_POSTGRES = os.environ.get("DATABASE_URL", "").startswith("postgres")
RACES = 30 if IS_POSTGRES else 5
STOCKOUT = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different region."}


def test_the_next_attempt_is_made_once_and_never_beside_another(
    request_job: RequestJob, team: Team, owner: User, clock: Clock
) -> None:
    with ThreadPoolExecutor(3) as pool:
        for number in range(RACES):
            job = ask(team, owner, clock, f"form-{number}")
            end(job, clock, "failed")
            pk = Fallback.objects.get(attempts__job=job).pk
            barrier = Barrier(3)

            def follow(which: int, pk: object = pk, barrier: Barrier = barrier, job: Job = job) -> bool:
                barrier.wait()
                try:
                    if which == 2:  # a person cancels at the same moment
                        return fallbacks.stop_attempts(job, by=owner, now=clock.now)
                    return fallbacks.make_next_attempt(pk, now=clock.now)  # type: ignore[arg-type]
                finally:
                    connection.close()

            took = list(pool.map(follow, range(3)))

            assert sum(took) == 1, took
            attempts = FallbackAttempt.objects.filter(fallback=pk)
            assert attempts.count() == (1 if took[2] else 2)
            assert attempts.filter(job__ended_at=None).count() == (0 if took[2] else 1)
    assert list(audit(clock.now)) == []


@pytest.mark.skipif(not IS_POSTGRES, reason="SQLite locks no rows")
def test_a_lost_attempt_that_is_found_again_meanwhile_ends_nothing(
    request_job: RequestJob, team: Team, owner: User, clock: Clock
) -> None:
    job = ask(team, owner, clock, "form")
    end(job, clock, "lost")
    row = Fallback.objects.get(attempts__job=job)

    took = meanwhile(
        Job.objects.filter(pk=job.pk),
        lambda: transitions.transition(job, "running", now=clock.now, message="running"),
        lambda: fallbacks.make_next_attempt(row.pk, now=clock.now),
    )

    assert not took
    assert Fallback.objects.get(pk=row.pk).ended_at is None


def ask(team: Team, owner: User, clock: Clock, key: str) -> Job:
    """Request a job with two further attempts."""
    submission = samples.submission(**samples.limited(0.1, {}))
    plan = Plan((Step("standard"), Step("", "europe-west4")))
    asked = requests.RequestOptions(team, owner, timedelta(minutes=6), clock.now, plan=plan)
    return requests.request_jobs([submission], asked, request_key=key)[0]


def end(job: Job, clock: Clock, how: str) -> None:
    """Let a job end for want of machines, or lose it, as the observer would write it."""
    for state in ("submitting", "pending", how):
        clock.forward(seconds=1)
        error = {"error": STOCKOUT} if state == "failed" else {}
        name = (
            {"remote_name": f"projects/1/locations/us-central1/customJobs/{job.pk.int}"} if state == "pending" else {}
        )
        assert transitions.transition(job, state, now=clock.now, message=state, **error, **name)
