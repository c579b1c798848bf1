"""Tests of which rows a repair takes up again, and that it leaves every other row as it is."""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Job, LogFeed, Scope
from jobs.queue import claims
from jobs.upkeep import expired_claims, repair, repair_times, untended
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TOKEN = UUID(int=5)
RUNNING = {"state": "running", "remote_name": "projects/p/1", "log_complete": True}
ENDED = RUNNING | {"state": "succeeded", "ended_at": NOW}


@pytest.fixture
def job(request_job: RequestJob, cloud: Cloud) -> Job:
    """A job whose scope and log are watched."""
    job = request_job()
    claims.wake_scope(project=job.project, region=job.region, kind=job.kind, due_at=cloud.now)
    claims.wake_feed(job.project, due_at=cloud.now)
    return job


@pytest.mark.parametrize(
    ("columns", "is_repaired"),
    [
        ({"state": "approved"}, True),
        ({"state": "submitting"}, True),
        ({"state": "approved", "due_at": NOW + timedelta(minutes=1)}, False),
        ({"state": "approved", "claim": TOKEN, "claimed_until": NOW + timedelta(seconds=9)}, False),
        ({"state": "awaiting_approval"}, False),
        ({"state": "awaiting_approval", "cancel_requested_at": NOW}, False),
        (RUNNING, False),
        (RUNNING | {"cancel_requested_at": NOW}, True),
        (RUNNING | {"cancel_requested_at": NOW, "remote_name": ""}, False),
        (ENDED | {"cancel_requested_at": NOW}, False),
        (ENDED, False),
        (ENDED | {"deletion_requested_at": NOW}, True),
        (ENDED | {"deletion_requested_at": NOW, "deleted_at": NOW}, False),
        (ENDED | {"deletion_requested_at": NOW, "due_at": NOW + timedelta(minutes=1)}, False),
    ],
)
def test_a_job_that_needs_a_step_and_has_none_gets_one(
    job: Job, cloud: Cloud, columns: dict[str, Any], is_repaired: bool
) -> None:
    Job.objects.update(**{"due_at": None} | columns)
    has_work = any(rows.exists() for rows in untended())

    assert (repair(cloud.now), has_work) == (int(is_repaired), is_repaired)

    job.refresh_from_db()
    assert job.due_at == (cloud.now if is_repaired else columns.get("due_at"))
    assert job.events.filter(reason="no_next_step").count() == is_repaired


@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_only_an_expired_claim_is_released(job: Job, request_job: RequestJob, cloud: Cloud, seconds: int) -> None:
    until = cloud.now + timedelta(seconds=seconds)
    other = request_job()
    Job.objects.filter(pk=job.pk).update(claim=TOKEN, claimed_until=until)
    Scope.objects.update(claim=TOKEN, claimed_until=until)
    later = {"claim": UUID(int=6), "claimed_until": cloud.now + timedelta(seconds=30)}
    Job.objects.filter(pk=other.pk).update(**later)
    is_dead = seconds <= 0

    assert [rows.exists() for rows in expired_claims(cloud.now)] == [is_dead, is_dead, False, False]
    assert repair(cloud.now) == 2 * is_dead

    job.refresh_from_db()
    assert (job.claim, job.claimed_until) == ((None, None) if is_dead else (TOKEN, until))
    assert Scope.objects.get().claim == (None if is_dead else TOKEN)
    assert job.events.filter(reason="dead_claim").count() == is_dead
    assert Job.objects.filter(pk=other.pk, **later).exists()


def test_each_of_several_rows_is_repaired_and_recorded(request_job: RequestJob, clock: Clock) -> None:
    jobs, planned = [request_job(), request_job()], request_job()
    soon = NOW + timedelta(minutes=1)

    for due_at, step, reason in (
        (None, repair, "no_next_step"),
        (NOW + timedelta(days=1), repair_times, "due_too_late"),
    ):
        Job.objects.update(due_at=due_at)
        Job.objects.filter(pk=planned.pk).update(due_at=soon)
        step(clock.now)
        assert [job.events.filter(reason=reason).count() for job in jobs] == [1, 1]
        assert {job.pk: job.due_at for job in Job.objects.all()} == {
            **dict.fromkeys([job.pk for job in jobs], clock.now), planned.pk: soon
        }  # fmt: skip


def test_a_row_that_was_written_since_it_was_found_is_left_alone(job: Job, cloud: Cloud) -> None:
    later = cloud.now + timedelta(minutes=1)
    events = job.events.count()
    Job.objects.update(due_at=later, claim=TOKEN, claimed_until=later)
    module = import_module("jobs.upkeep.repair")
    lost = module._without_due_time()[0]

    assert not module._schedule(lost, cloud.now, job.pk)
    assert not module._make_due(job.pk, cloud.now, cloud.now)
    assert not module._release_and_record(job.pk, UUID(int=6), "", cloud.now)

    job.refresh_from_db()
    assert (job.due_at, job.claim, job.claimed_until, job.events.count()) == (later, TOKEN, later, events)


@pytest.mark.parametrize(
    ("columns", "is_repaired"),
    [
        (RUNNING, True),
        (RUNNING | {"remote_name": ""}, False),
        (ENDED, False),
        ({"state": "awaiting_approval"}, False),
    ],
)
def test_a_scope_with_jobs_is_polled(job: Job, cloud: Cloud, columns: dict[str, Any], is_repaired: bool) -> None:
    Job.objects.update(due_at=None, **columns)
    common = {"project": job.project, "kind": job.kind, "region": job.region, "due_at": cloud.now}
    for changed in ({"region": "europe-west4"}, {"project": "another"}, {"kind": "training_pipeline"}):
        Scope.objects.create(**common | changed)
    assert repair(cloud.now) == 0
    ours = Scope.objects.get(project=job.project, region=job.region, kind=job.kind)
    Scope.objects.filter(pk=ours.pk).update(due_at=None)

    assert repair(cloud.now) == int(is_repaired)

    ours.refresh_from_db()
    assert ours.due_at == (cloud.now if is_repaired else None)


@pytest.mark.parametrize(
    ("columns", "is_repaired"),
    [
        (ENDED | {"submitted_at": NOW, "log_complete": False}, True),
        (ENDED | {"submitted_at": NOW}, False),
        (ENDED | {"log_complete": False}, False),
        (ENDED | {"submitted_at": NOW, "log_complete": False, "remote_name": ""}, False),
    ],
)
def test_a_log_that_grows_is_read(job: Job, cloud: Cloud, columns: dict[str, Any], is_repaired: bool) -> None:
    Job.objects.update(due_at=None, **columns)
    LogFeed.objects.create(project="another", due_at=cloud.now)
    assert repair(cloud.now) == 0
    LogFeed.objects.filter(project=job.project).update(due_at=None)

    assert repair(cloud.now) == int(is_repaired)

    assert LogFeed.objects.get(project=job.project).due_at == (cloud.now if is_repaired else None)
