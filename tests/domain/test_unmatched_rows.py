"""Tests of listed jobs that carry our label and that no row follows: which are followed, cancelled, kept or ended."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs import transitions
from jobs.clients import JOB_LABEL
from jobs.models import Job, Scope, UnmatchedJob
from jobs.observation.observe import Listed
from jobs.submission.adapters import DatabaseStore, save_unmatched
from jobs.submission.doubts import Doubts
from jobs.submission.ports import Ports
from jobs.submission.unmatched import match_listed
from jobs.vertex import RemoteJob
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


class Remote:
    """A Vertex AI that lists `found` for every label, and takes cancellations."""

    def __init__(self) -> None:
        self.found, self.cancelled = list[RemoteJob](), list[str]()

    def find(self, _job: Job) -> list[RemoteJob]:
        return self.found

    def cancel(self, row: UnmatchedJob) -> None:
        self.cancelled.append(row.remote_name)


@pytest.fixture
def vertex_ai() -> Remote:
    return Remote()


@pytest.fixture
def ports(vertex_ai: Any, clock: Clock) -> Ports:
    return Ports(DatabaseStore(clock.clock), vertex_ai, clock.clock, Doubts())


def scope(job: Job, kind: str = "custom_job") -> Scope:
    return Scope.objects.create(project=job.project, region=job.region, kind=kind, due_at=None)


def listed(number: int, job_id: object, clock: Clock, state: str = "RUNNING") -> RemoteJob:
    name = f"projects/p/locations/us-central1/customJobs/{number}"
    raw = {"labels": {JOB_LABEL: str(job_id)}, "createTime": clock.now.isoformat()}
    return RemoteJob(name, f"JOB_STATE_{state}", raw)


def test_one_of_another_kind_is_a_part_of_the_request(
    request_job: RequestJob, ports: Ports, vertex_ai: Remote, clock: Clock
) -> None:
    job = request_job(kind="hyperparameter_tuning_job")
    scope(job, "hyperparameter_tuning_job")
    vertex_ai.found = [listed(1, job.pk, clock)]

    match_listed(scope(job).pk, Listed(vertex_ai.found, True), ports)

    assert Job.objects.get(pk=job.pk).state == "approved"
    assert (vertex_ai.cancelled, UnmatchedJob.objects.count()) == ([], 0)


def test_one_of_an_unsent_request_is_followed_if_a_look_up_shows_it(
    request_job: RequestJob, ports: Ports, vertex_ai: Remote, clock: Clock
) -> None:
    job = request_job()
    place, unmatched = scope(job).pk, [listed(1, job.pk, clock)]

    match_listed(place, Listed(unmatched, True), ports)
    assert Job.objects.get(pk=job.pk).remote_name == ""
    vertex_ai.found = unmatched
    match_listed(place, Listed(unmatched, True), ports)

    assert Job.objects.get(pk=job.pk).remote_name == unmatched[0].name


def test_one_of_a_settled_request_is_cancelled_while_it_runs(
    request_job: RequestJob, ports: Ports, vertex_ai: Remote, clock: Clock
) -> None:
    job = request_job()
    transitions.transition(job, "submitting", now=clock.now, message="x")
    followed, running, ended = (
        listed(n, job.pk, clock, state) for n, state in enumerate(("RUNNING", "RUNNING", "FAILED"))
    )
    transitions.transition(job, "running", now=clock.now, message="x", remote_name=followed.name)

    match_listed(scope(job).pk, Listed([followed, running, ended], True), ports)

    assert vertex_ai.cancelled == [running.name]
    assert set(UnmatchedJob.objects.values_list("remote_name", "job")) == {
        (each.name, job.pk) for each in (running, ended)
    }


def test_one_of_a_request_that_awaits_approval_is_looked_up_after_it(
    request_job: RequestJob, ports: Ports, vertex_ai: Remote, clock: Clock
) -> None:
    job = request_job(hours=10)

    match_listed(scope(job).pk, Listed([listed(1, job.pk, clock)], True), ports)

    assert Job.objects.get(pk=job.pk).attempted_at == clock.now
    assert (vertex_ai.cancelled, UnmatchedJob.objects.count()) == ([], 0)


@pytest.mark.parametrize("is_complete", [True, False])
def test_what_a_whole_list_leaves_out_has_ended(
    request_job: RequestJob, ports: Ports, clock: Clock, is_complete: bool
) -> None:
    job, before = request_job(), clock.now
    place = {"project": job.project, "region": job.region, "kind": "custom_job"}
    unknown = [listed(number, uuid4(), clock) for number in range(4)]
    for remote, at in zip(unknown, (place, place, place, place | {"region": "europe-west4"}), strict=True):
        save_unmatched(remote, job=None, place=at, has_ended=remote is unknown[2], now=before)
    scope(job, "training_pipeline")
    clock.forward(minutes=1)

    match_listed(scope(job).pk, Listed(unknown[:1], is_complete), ports)

    ends = [row.ended_at for row in UnmatchedJob.objects.order_by("remote_name")]
    assert ends == [None, before + timedelta(minutes=1) if is_complete else None, before, None]
