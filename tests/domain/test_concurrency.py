"""Tests of several workers at once, each with its own database connection: nothing is done twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs import observation, requests, steps
from jobs.models import Approval, ExternalJob, Job, Team
from jobs.submission import delete_job
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob, watch
from tests.domain.test_discovery import make

Answer = TypeVar("Answer")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
WORKERS = 4


def together(step: Callable[[int], Answer]) -> list[Answer]:
    """Run `step(0)`, `step(1)`, ... in as many threads, started at the same moment."""
    barrier = Barrier(WORKERS)

    def run(which: int) -> Answer:
        barrier.wait()
        try:
            return step(which)
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(run, range(WORKERS)))


def test_workers_that_submit_the_same_job_create_it_once(request_job: RequestJob, cloud: Cloud) -> None:
    job = request_job()

    together(lambda _: steps.advance(job.pk, clock=cloud.clock))

    assert len(cloud.jobs()) == 1
    assert Job.objects.get().submit_attempts == 1


def test_the_same_click_arriving_at_once_makes_one_job(request_job: RequestJob, cloud: Cloud) -> None:
    made = together(lambda _: request_job(key="one click").pk)

    assert len(set(made)) == 1
    assert Job.objects.get().events.filter(kind="state").count() == 1


def test_of_several_answers_one_counts(request_job: RequestJob, cloud: Cloud, approver: User, admin: User) -> None:
    job = request_job(hours=10)

    def answer(which: int) -> bool:
        verb = (requests.approve, requests.reject)[which % 2]
        by = (approver, admin)[which // 2]
        return verb(Job.objects.get(pk=job.pk), by=by, comment=f"answer {which}", now=cloud.now)

    assert together(answer).count(True) == 1
    job.refresh_from_db()
    assert job.state == Approval.objects.get().decision
    assert job.events.filter(to_state__in=["approved", "rejected"]).count() == 1


def test_a_deletion_is_asked_for_and_made_once(request_job: RequestJob, cloud: Cloud, owner: User) -> None:
    job = request_job()
    steps.advance(job.pk, clock=cloud.clock)
    watch(cloud, job, minutes=120, every=60)
    job.refresh_from_db()

    asked = together(lambda _: delete_job(Job.objects.get(pk=job.pk), by=owner, now=cloud.now))
    together(lambda _: steps.advance(job.pk, clock=cloud.clock))

    assert asked.count(True) == 1
    assert cloud.calls()["customJobs.delete"] == 1
    assert list(job.events.filter(kind__startswith="delete").values_list("kind", flat=True).order_by("id")) == [
        "delete_requested",
        "deleted",
    ]


def test_a_survey_and_an_adoption_are_made_once(team: Team, cloud: Cloud, owner: User, approver: User) -> None:
    make(cloud, name="theirs")
    asked = observation.request_discovery(project=team.project, region="us-central1", by=owner, now=cloud.now)

    together(lambda _: observation.discover(asked.pk, now=cloud.now))
    external = ExternalJob.objects.get()
    adopted = together(
        lambda which: observation.adopt(external, team=team, by=(owner, approver)[which % 2], now=cloud.now).pk
    )

    assert cloud.calls()["customJobs.list"] == 1
    assert set(adopted) == {Job.objects.get().pk}
    assert Job.objects.get().events.filter(kind="adopted").count() == 1
    assert list(audit(cloud.now)) == []


def test_observers_of_one_scope_record_each_change_once(request_job: RequestJob, cloud: Cloud) -> None:
    job = request_job()
    steps.advance(job.pk, clock=cloud.clock)
    cloud.script("happy")
    cloud.forward(hours=2)
    (scope_id,) = steps.due_scopes(cloud.now)

    together(lambda _: steps.observe(scope_id, clock=cloud.clock))

    states = list(Job.objects.get().events.filter(kind="state").order_by("id").values_list("to_state", flat=True))
    assert states[-2:] == ["running", "succeeded"]
    assert len(states) == len(set(states))
