"""Tests of the usual start-up, learned from ended jobs that are alike."""

from datetime import timedelta

import pytest

from jobs.metrics import Record
from jobs.metrics.record import Series
from jobs.models import Job, JobFigures, JobMetrics, Team
from jobs.observation import health
from jobs.requests.learned_figures import usual_start_up
from jobs.timeline.health import USUAL_START_UP
from jobs.timeline.resource_holdings import find_submission
from jobs.transitions import transition
from jobs.upkeep import count_all
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db


def run(request_job: RequestJob, clock: Clock, start_up: int | None, *, ends: bool = True, **changes: object) -> Job:
    """Return a job whose first step came `start_up` seconds after it began to run, None: it wrote none."""
    job = request_job(**changes)
    for state in ("submitting", "queued", "running"):
        transition(job, state, now=clock.forward(seconds=30), message=state)
    if start_up is not None:
        first = clock.now.timestamp() + start_up
        points = [(first, 1, 0.5), (first + 60, 2, 0.4)]
        record = Record([Series("loss", "workerpool0-0", points, last=points[-1])]).as_json()
        JobMetrics.objects.create(job=job, record=record)
    if ends:
        transition(job, "succeeded", now=clock.forward(hours=1), message="It succeeded.")
        sum(count_all())
    return job


def learned(job: Job, clock: Clock) -> timedelta | None:
    submission = find_submission(job)
    assert submission is not None
    return usual_start_up(job, submission, clock.now)


def test_the_median_of_jobs_that_are_alike(request_job: RequestJob, clock: Clock) -> None:
    for seconds in (900, 100, 1_100):
        run(request_job, clock, seconds)
    run(request_job, clock, None)
    run(request_job, clock, -50)
    for seconds in (1, 2, 3):
        run(request_job, clock, seconds, machine={"machineType": "n1-standard-4"})
        run(request_job, clock, seconds, hours=2)
    job = run(request_job, clock, None, ends=False)

    assert learned(job, clock) == timedelta(seconds=900)
    assert {"start_up": 900}.items() <= JobFigures.objects.order_by("pk").get(teaches__start_up=900).teaches.items()

    evidence = health.evidence_of(job, None, clock.forward(minutes=59))
    assert evidence.usual_start_up == USUAL_START_UP, "nothing is looked for before it matters"
    assert health.evidence_of(job, None, clock.forward(minutes=2)).usual_start_up == timedelta(seconds=900)

    Job.objects.filter(pk=job.pk).update(team=Team.objects.create(name="other", project="other"))
    assert learned(Job.objects.get(pk=job.pk), clock) is None, "of another team"


def test_two_jobs_show_nothing_usual(request_job: RequestJob, clock: Clock) -> None:
    for seconds in (900, 100):
        run(request_job, clock, seconds)
    job = run(request_job, clock, None, ends=False)

    assert learned(job, clock) is None
    assert health.evidence_of(job, None, clock.forward(minutes=70)).usual_start_up == USUAL_START_UP
