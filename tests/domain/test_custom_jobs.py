"""Tests of a training pipeline with a preempted machine: it stays RUNNING, and only its custom job shows the wait."""

from datetime import timedelta

import pytest

from jobs import steps, timeline
from jobs.cost import accrued, to_micros
from jobs.models import Job, JobEvent, Scope
from jobs.observation.child_jobs import _record_custom_job
from jobs.queue import rate_limit
from jobs.states import REMOTE
from jobs.upkeep import count_all
from jobs.upkeep.audit import audit
from jobs.vertex.wire import remote_job
from tests.domain.conftest import Cloud, RequestJob, look, watch
from tests.support.truth import machine_spans

RAN, WAITED = 1800, 600


@pytest.fixture
def job(request_job: RequestJob, cloud: Cloud) -> Job:
    """A pipeline on Spot that is preempted after half an hour and then waits for ten minutes."""
    cloud.script("happy", queue_seconds=30, run_seconds=RAN, preempt_after=[RAN // 2])
    job = request_job(kind="training_pipeline", strategy="SPOT", hours=1)
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    return job


def wait_until(cloud: Cloud, job: Job, state: str) -> None:
    for _ in range(400):
        if job.custom_job_state == state:
            return
        watch(cloud, job, minutes=0.5, every=15)
    raise AssertionError(f"its custom job is {job.custom_job_state}, not {state}")


def true_states(cloud: Cloud, job: Job) -> list[tuple[str, str]]:
    """The states of its custom job, by the emulator's own record."""
    found = next(each for each in cloud._emulator.truth()["jobs"] if each["owner"] == job.remote_name)
    return [(each["state"].removeprefix("JOB_STATE_").lower(), each["at"]) for each in found["history"]]


class TestPreemptedPipeline:
    def test_is_billed_for_the_time_with_machines(self, job: Job, cloud: Cloud) -> None:
        watch(cloud, job, minutes=300, every=15)

        runs = machine_spans(next(each for each in cloud._emulator.truth()["jobs"] if each["owner"] == job.remote_name))
        ran = sum((end - start for start, end in runs), timedelta())
        assert len(runs) == 2
        assert job.state == "succeeded"
        assert job.running_seconds == pytest.approx(ran.total_seconds(), abs=1)
        assert job.running_seconds < (job.ended_at - job.started_at).total_seconds()  # type: ignore[operator]

    def test_shows_a_change_once_that_its_custom_job_reports_too(self, job: Job, cloud: Cloud) -> None:
        watch(cloud, job, minutes=300, every=15)

        rows = timeline.entries(job.events.order_by("occurred_at", "pk"))
        shown = [(row.event.kind, row.event.to_state) for row in rows if row.event.to_state in REMOTE]
        own, inner = JobEvent.Kind.STATE, JobEvent.Kind.CUSTOM_JOB_STATE
        again = [(inner, "pending"), (inner, "running")]
        # The pipeline is RUNNING at once, long before its custom job has machines.
        assert shown == [(own, "pending"), (own, "running"), (inner, "running"), *again, (own, "succeeded")]

    def test_waits_in_the_lane_of_vertex_ai_with_its_restart(self, job: Job, cloud: Cloud) -> None:
        watch(cloud, job, minutes=300, every=15)

        told = timeline.build_timeline(job, job.events.order_by("id"), cloud.now)

        lane = next(lane for lane in told.lanes if lane.name == "Vertex AI")
        with_machines = [span.state for span in lane.spans if span.has_machines]
        assert with_machines[-3:] == ["running", "pending", "running"]
        assert [mark.reason for mark in lane.marks] == ["preempted"]
        assert told.attempts == 2

    def test_says_while_it_waits_that_it_does(self, job: Job, cloud: Cloud) -> None:
        wait_until(cloud, job, "running")
        wait_until(cloud, job, "pending")

        reason = timeline.wait_reason(job)
        assert (job.state, job.running_since) == ("running", None)
        assert reason is not None
        assert reason.words == "its custom job gets machines again after a restart"
        assert list(audit(cloud.now)) == []

    def test_says_what_vertex_ai_reports_about_its_custom_job(self, job: Job, cloud: Cloud) -> None:
        wait_until(cloud, job, "running")
        wait_until(cloud, job, "pending")
        name = next(each["name"] for each in cloud._emulator.truth()["jobs"] if each["owner"] == job.remote_name)
        words = "Resources are insufficient in region: us-central1."
        remote = remote_job("custom_job", cloud.job(name) | {"error": {"code": 8, "message": words}})

        _record_custom_job(job.pk, remote, cloud.now)
        _record_custom_job(job.pk, remote, cloud.forward(minutes=1))

        job.refresh_from_db()
        reason = timeline.wait_reason(job)
        assert reason is not None
        assert reason.words == f"Vertex AI reports while it waits: {words}"
        assert job.events.filter(kind="error_learned").count() == 1
        wait_until(cloud, job, "running")
        assert job.wait_error == ""
        assert list(audit(cloud.now)) == []

    def test_costs_on_a_day_what_its_machines_ran(self, job: Job, cloud: Cloud) -> None:
        wait_until(cloud, job, "running")
        wait_until(cloud, job, "pending")
        cloud.forward(hours=24)
        look(cloud)

        job.refresh_from_db()
        changes = list(job.events.filter(kind__in=timeline.SPAN_KINDS))
        spent = timeline.micros_by_day(job, changes, (), cloud.now)
        assert job.started_at is not None
        cost = accrued(job.hourly_usd, timedelta(seconds=job.running_seconds))
        assert cost is not None
        assert spent == {job.started_at.date(): to_micros(cost)}

    def test_is_asked_for_once_in_a_poll_interval(self, job: Job, cloud: Cloud) -> None:
        wait_until(cloud, job, "running")
        before = cloud.calls()["customJobs.get"]
        cloud.forward(seconds=30)
        look(cloud)
        look(cloud)

        assert cloud.calls()["customJobs.get"] == before + 1

    def test_keeps_what_is_known_when_its_custom_job_does_not_answer(self, job: Job, cloud: Cloud) -> None:
        wait_until(cloud, job, "running")
        ran_since = job.running_since
        cloud.fail("customJobs.get", "503", times=50)
        watch(cloud, job, minutes=300, every=30)

        assert job.state == "succeeded", "the pipeline is followed without it"
        assert job.started_at == ran_since
        cloud.forget_faults()
        for _ in range(6):
            cloud.forward(minutes=1)
            look(cloud)

        job.refresh_from_db()
        assert job.custom_job_state == "succeeded"
        assert list(audit(cloud.now)) == []

    def test_does_not_ask_beyond_the_rate_limit(self, job: Job, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
        wait_until(cloud, job, "running")
        before = cloud.calls()["customJobs.get"]
        spend, left = rate_limit.spend, iter([None])

        def only_the_list(*args: object, **named: object) -> None:
            if next(left, "over") == "over":
                raise rate_limit.OverRateLimit("No reads are left.")
            spend(*args, **named)  # type: ignore[arg-type]

        monkeypatch.setattr("jobs.queue.rate_limit.spend", only_the_list)
        cloud.forward(seconds=30)
        for scope_id in steps.due_scopes(cloud.now):
            steps.observe(scope_id, clock=cloud.clock)

        assert cloud.calls()["customJobs.get"] == before

    def test_is_asked_for_no_more_when_it_has_ended(self, job: Job, cloud: Cloud) -> None:
        watch(cloud, job, minutes=300, every=30)
        sum(count_all())
        before = cloud.calls()["customJobs.get"]
        for _ in range(4):
            cloud.forward(minutes=5)
            look(cloud)

        assert cloud.calls()["customJobs.get"] == before
        assert not Scope.objects.filter(kind="training_pipeline", due_at__isnull=False).exists()
        assert job.events.filter(kind=JobEvent.Kind.CUSTOM_JOB_STATE, to_state="succeeded").count() == 1
