"""Tests that recorded answers of the real Vertex AI cause no restart, run time or cost that the job did not have."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from jobs import observation, steps, timeline
from jobs.models import Job
from jobs.upkeep.audit import audit
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock
from tests.support.replayed import (
    Answer,
    Replayed,
    answer_at,
    recorded_cancellations,
    rfc3339,
    whole_lives,
)

pytestmark = pytest.mark.both_databases
LIVES = whole_lives()
CREATED = datetime.fromisoformat("2026-02-18T01:23:27.567461Z")
PROVISIONAL = "2026-02-18T01:23:27.714674Z"


def look(clock: Clock) -> None:
    for scope_id in steps.due_scopes(clock.now):
        steps.observe(scope_id, clock=clock.clock)
    for feed_id in steps.due_feeds(clock.now):
        observation.read_feed(feed_id, now=clock.now)


def begin(service: Replayed, request_job: RequestJob, answers: list[Answer], **changes: Any) -> Job:
    """Request and send a job at the time at which the recorded one was created."""
    service.answers, service.clock.now = answers, answers[0].since
    job = request_job(**changes)
    steps.advance(job.pk, clock=service.clock.clock)
    job.refresh_from_db()
    assert job.remote_name
    return job


def poll_at(service: Replayed, job: Job, *moments: datetime) -> None:
    for moment in moments:
        service.clock.now = max(moment, service.clock.now)
        look(service.clock)
    job.refresh_from_db()
    assert list(audit(service.clock.now)) == []


def poll_through(service: Replayed, job: Job) -> None:
    """Look shortly after each answer, in the middle between two, and for some minutes after the last."""
    moments = [answer.since for answer in service.answers]
    middles = [a + (b - a) / 2 for a, b in pairwise(moments)]
    late = [moments[-1] + timedelta(seconds=20 * each) for each in range(1, 16)]
    poll_at(service, job, *sorted([each + timedelta(milliseconds=900) for each in moments] + middles + late))


def states(job: Job) -> list[str]:
    return list(job.events.filter(kind="state").order_by("id").values_list("to_state", flat=True))


@pytest.mark.parametrize("name", LIVES)
def test_a_job_that_ran(name: str, service: Replayed, request_job: RequestJob) -> None:
    answers, last = LIVES[name], LIVES[name][-1].fields
    job = begin(service, request_job, answers)

    poll_through(service, job)

    assert states(job)[2] == "pending"
    assert states(job).count("running") == 1
    assert job.started_at == datetime.fromisoformat(last["startTime"])
    assert (job.restarts, job.waited_again_seconds) == (0, 0)
    assert not job.events.filter(kind__in=("restarted", "corrected")).exists()
    if "endTime" in last:
        ran = datetime.fromisoformat(last["endTime"]) - job.started_at
        assert job.running_seconds == pytest.approx(ran.total_seconds())
        assert job.state == last["state"].removeprefix("JOB_STATE_").lower()


@pytest.mark.parametrize("name", ["ID-14 succeeded", "ID-15 cancelled", "ID-13 failed"])
def test_a_job_that_nobody_saw_run(name: str, service: Replayed, request_job: RequestJob) -> None:
    answers = LIVES[name]
    job = begin(service, request_job, answers)

    poll_at(service, job, answers[1].since, answers[-1].since + timedelta(minutes=1))

    last = answers[-1].fields
    ran = datetime.fromisoformat(last["endTime"]) - datetime.fromisoformat(last["startTime"])
    assert (job.running_seconds, job.restarts) == (ran.total_seconds(), 0)


@pytest.mark.parametrize("kind", ["CustomJob", "HyperparameterTuningJob"])
def test_a_job_cancelled_in_the_queue(kind: str, service: Replayed, request_job: RequestJob) -> None:
    changes = {} if kind == "CustomJob" else {"kind": "hyperparameter_tuning_job"}
    for number, answers in enumerate(recorded_cancellations(kind).values()):
        service.kind = kind
        job = begin(service, request_job, answers, name=f"queued-{number}", **changes)

        poll_through(service, job)

        assert job.state == "cancelled"
        assert "running" not in states(job)
        assert (job.started_at, job.running_seconds, job.restarts) == (None, 0, 0)
        assert not timeline.cost_so_far(job, service.clock.now)
        assert not job.events.filter(kind="restarted").exists()


def waiting(*more: Answer) -> list[Answer]:
    """Return the answers about a job until it waits in PENDING, and `more`."""
    later = CREATED + timedelta(seconds=2)
    return [
        answer_at(CREATED, "PENDING", CREATED),
        answer_at(CREATED + timedelta(seconds=0.34), "QUEUED", CREATED, startTime=PROVISIONAL),
        answer_at(later, "PENDING", CREATED, startTime=PROVISIONAL),
        *more,
    ]


def after(seconds: float) -> datetime:
    return CREATED.replace(microsecond=0) + timedelta(seconds=seconds)


class TestEndedUnseen:
    """A job that no poll saw RUNNING and whose start is not settled: the log decides, or nothing is claimed."""

    def ended(self, state: str, **fields: Any) -> list[Answer]:
        times = {"startTime": PROVISIONAL, "endTime": rfc3339(after(400))} | fields
        return waiting(answer_at(after(410), state, CREATED, **times))

    @pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"])
    def test_without_a_log_no_run_time_is_claimed(self, state: str, service: Replayed, request_job: RequestJob) -> None:
        job = begin(service, request_job, self.ended(state))

        poll_through(service, job)

        assert (job.state, job.started_at, job.running_seconds, job.restarts) == (state.lower(), None, 0, 0)
        assert not timeline.cost_so_far(job, service.clock.now)

    def test_the_services_log_decides(self, service: Replayed, request_job: RequestJob) -> None:
        job = begin(service, request_job, self.ended("SUCCEEDED"))
        service.service_line(after(5), "Waiting for job to be provisioned.")
        service.service_line(after(200), "Job is running.")
        service.service_line(after(399), "Job completed successfully.")

        poll_at(service, job, after(3), after(420), after(460), after(600))

        assert (job.started_at, job.running_seconds, job.restarts) == (after(200), 200, 0)
        assert job.events.get(kind="corrected").reason == "logged"

    def test_a_run_that_ended_before_the_job_did(self, service: Replayed, request_job: RequestJob) -> None:
        job = begin(service, request_job, self.ended("CANCELLED"))
        service.service_line(after(5), "Waiting for job to be provisioned.")
        service.service_line(after(100), "Job is running.")
        service.service_line(after(150), "Waiting for job to be provisioned.")

        poll_at(service, job, after(3), after(420), after(460), after(600))

        assert (job.started_at, job.running_seconds, job.restarts) == (after(100), 50, 1)

    @pytest.mark.parametrize("start", [rfc3339(after(401)), PROVISIONAL, "2026-02-18T01:23:28Z", "never", None])
    def test_an_impossible_start_is_none(self, start: str | None, service: Replayed, request_job: RequestJob) -> None:
        job = begin(service, request_job, self.ended("FAILED", startTime=start))

        poll_through(service, job)

        assert (job.started_at, job.running_seconds) == (None, 0)


class TestSettling:
    def test_a_start_that_settles_after_the_job_was_seen_running(
        self, service: Replayed, request_job: RequestJob
    ) -> None:
        running = answer_at(after(170.5), "RUNNING", CREATED, startTime=PROVISIONAL)
        settled = answer_at(after(171.5), "RUNNING", CREATED, startTime=rfc3339(after(158)))
        job = begin(service, request_job, waiting(running, settled))

        poll_at(service, job, after(2), after(60), after(171))
        assert job.started_at == after(170.5)
        poll_at(service, job, after(185), after(300))

        assert (job.started_at, job.running_since, job.restarts) == (after(158), after(158), 0)
        assert job.events.get(kind="corrected").reason == "settled"

    def test_a_start_is_none_while_the_job_waits(self, service: Replayed, request_job: RequestJob) -> None:
        """Some replicas may already run in PENDING, and an earlier run may have set it: RUNNING decides."""
        still = answer_at(after(170), "PENDING", CREATED, startTime=rfc3339(after(158)))
        running = answer_at(after(300), "RUNNING", CREATED, startTime=rfc3339(after(158)))
        job = begin(service, request_job, waiting(still, running))

        poll_at(service, job, after(2), after(60), after(200))
        assert (job.started_at, job.state) == (None, "pending")
        poll_at(service, job, after(310))

        assert (job.started_at, job.restarts) == (after(300), 0)
