"""Tests of the repair of starts that the version before took from a provisional `startTime`."""

import io
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command

from jobs import timeline, transitions
from jobs.doctor import Status, site
from jobs.models import Job, JobEvent, JobFigures, LogLine, Trial
from jobs.observation import record_restarts
from jobs.upkeep import count_ended
from jobs.upkeep.audit import audit
from jobs.upkeep.start_repair import CHECKED, IS_UNDECIDED, repair_starts, undecided_starts
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


class Past:
    """Writes a job's events as the version before did."""

    def __init__(self, job: Job, clock: Clock) -> None:
        self.job, self.created, self._clock = job, clock.now, clock

    def at(self, seconds: float) -> datetime:
        return self.created + timedelta(seconds=seconds)

    def state(self, to: str, seconds: float, reason: str = "observed", **columns: Any) -> "Past":
        at = self.at(seconds)
        assert transitions.transition(
            self.job, to, now=at, occurred_at=at, reason=reason, message=f"It is {to}.", **columns
        )
        return self

    def custom(self, before: str, to: str, seconds: float) -> "Past":
        at = self.at(seconds)
        transitions.record_custom_job_state(self.job, before, to, now=at, occurred_at=at, message=to)
        return self

    def restarted(self, seconds: float) -> "Past":
        kind, at = JobEvent.Kind.RESTARTED, self.at(seconds)
        key = f"restart::{at.isoformat()}"
        detail = {"replica": "", "exit_code": None, "is_certain": False}
        words = "Compute Engine most likely preempted the Spot VM, so Vertex AI restarts the job."
        transitions.record_event(
            self.job, kind, now=at, occurred_at=at, reason="preempted", message=words, detail=detail, once_key=key
        )
        return self

    def line(self, message: str, seconds: float, replica: str = "service") -> "Past":
        LogLine.objects.create(
            job=self.job, timestamp=self.at(seconds), insert_id=f"{seconds}", replica=replica, message=message
        )
        return self

    def falsely_running(self, start: float = 0.147213) -> "Past":
        """With a provisional start, as a poll after creation found it."""
        number = f"projects/1/locations/us-central1/customJobs/{self.job.pk.int}"
        self.state("submitting", 0, "").state("pending", 0, remote_name=number, submitted_at=self.created)
        return self.state("running", start, "backfilled")

    def pipeline(self) -> "Past":
        """Running as a pipeline, whose custom job waits."""
        name = "projects/1/locations/us-central1/trainingPipelines/7"
        self.state("submitting", 0, "").state("running", 0.25, remote_name=name, submitted_at=self.created)
        return self.custom("", "pending", 2)

    def falsely_started(self, start: float = 0.147213) -> "Past":
        """In the queue after a provisional start, which looks like a restart."""
        return self.falsely_running(start).state("queued", start + 0.2).restarted(start + 0.2)


@pytest.fixture
def past(request_job: RequestJob, clock: Clock) -> Past:
    return Past(request_job(), clock)


def repaired(past: Past, clock: Clock) -> Job:
    """Repair, again and again as sweeps do, and return the job."""
    now = max(clock.now, past.at(7200))
    repair_starts(now)
    before = past.job.events.count()
    assert repair_starts(now) == 0
    assert past.job.events.count() == before, "each job is repaired or checked once"
    while count_ended(now):
        pass
    past.job.refresh_from_db()
    assert [broken for broken in audit(now) if broken.rule != "watched"] == []
    return past.job


def test_a_false_start_and_its_restart_are_taken_back(past: Past, clock: Clock) -> None:
    past.falsely_started().state("pending", 20).state("running", 175.4).state("succeeded", 775.4)
    assert (past.job.restarts, past.job.started_at) == (1, past.at(0.147213))
    while count_ended(past.at(800)):
        pass
    before = JobFigures.objects.get(job=past.job)

    job = repaired(past, clock)

    assert (job.restarts, job.started_at, job.waited_again_seconds) == (0, past.at(175.4), 0)
    assert job.running_seconds == 600
    after = JobFigures.objects.get(job=job)
    assert (before.preemptions, after.preemptions) == (1, 0)
    assert after.seconds == 600
    told = job.events.get(kind="corrected")
    assert told.message.startswith("It did not run then")
    assert [span.state for span in timeline.state_spans(list(job.events.order_by("id")))][-4:] == [
        "queued", "pending", "running", "succeeded",
    ]  # fmt: skip
    record_restarts(job, now=past.at(900))
    assert not [e for e in timeline.holding(job.events.order_by("id")) if e.kind == "restarted"]


def test_true_restarts_of_the_same_job_stay(past: Past, clock: Clock) -> None:
    past.falsely_started().state("pending", 20).state("running", 175.4).state("pending", 300).restarted(300)
    past.state("running", 500).state("failed", 600)

    job = repaired(past, clock)

    assert (job.restarts, job.running_seconds, job.waited_again_seconds) == (1, 124.6 + 100, 200)


@pytest.mark.parametrize("state", ["pending", "cancelled"])
def test_one_that_never_ran(state: str, past: Past, clock: Clock) -> None:
    past.falsely_started().state(state, 80)

    job = repaired(past, clock)

    assert (job.state, job.started_at, job.running_seconds, job.restarts) == (state, None, 0, 0)
    assert not timeline.cost_so_far(job, past.at(7200))
    assert job.waiting_again_since is None


def test_the_log_shows_when_it_ran(past: Past, clock: Clock) -> None:
    """No poll saw the run, which the version before took for one from the creation on."""
    past.falsely_started().line("Waiting for job to be provisioned.", 1).line("Job is running.", 170)
    past.state("succeeded", 770)

    job = repaired(past, clock)

    assert (job.started_at, job.running_seconds, job.restarts) == (past.at(170), 600, 0)


def test_a_true_start_of_the_emulator_stays(past: Past, clock: Clock) -> None:
    past.falsely_started().line("Job is running.", 0.2).state("running", 60).state("succeeded", 70)
    before = (past.job.started_at, past.job.running_seconds, past.job.restarts)

    job = repaired(past, clock)

    assert (job.started_at, job.running_seconds, job.restarts) == before
    assert not job.events.filter(kind="corrected").exists()
    assert job.events.get(once_key=CHECKED).kind == JobEvent.Kind.REPAIRED
    assert not undecided_starts()


@pytest.mark.parametrize("state", ["", "succeeded"])
def test_a_start_that_no_wait_followed_stays(state: str, past: Past, clock: Clock) -> None:
    past.falsely_running()
    if state:
        past.state(state, 70)

    job = repaired(past, clock)

    assert job.started_at == past.at(0.147213)
    assert job.events.get(once_key=CHECKED).reason == CHECKED


def test_a_start_that_a_poll_observed_is_not_looked_at(past: Past, clock: Clock) -> None:
    number = "projects/1/locations/us-central1/customJobs/7"
    past.state("submitting", 0, "").state("running", 0.147213, remote_name=number, submitted_at=past.created)
    past.state("queued", 1)

    assert not repaired(past, clock).events.filter(once_key=CHECKED).exists()


def test_each_job_has_its_own_events_and_log(past: Past, request_job: RequestJob, clock: Clock) -> None:
    past.falsely_started().line("Waiting for job to be provisioned.", 1).state("running", 60)
    repaired(past, clock)
    other = Past(request_job(), clock).falsely_started(start=0.8).state("running", 60)

    repaired(other, clock)

    assert other.job.events.get(once_key=CHECKED).reason == IS_UNDECIDED
    assert list(undecided_starts()) == [other.job]


def test_a_later_backfilled_start_is_not_looked_at(past: Past, clock: Clock) -> None:
    past.falsely_started(start=1.2).state("running", 60).state("succeeded", 70)

    job = repaired(past, clock)

    assert job.started_at == past.at(1.2)
    assert not job.events.filter(once_key=CHECKED).exists()


def test_what_nothing_decides_is_said(past: Past, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    past.falsely_started(start=0.8).line("epoch 1", 30, replica="workerpool0-0")
    past.state("running", 60).state("succeeded", 70)

    job = repaired(past, clock)

    assert job.started_at == past.at(0.8)
    assert "No log shows whether it ran" in job.events.get(once_key=CHECKED).message
    assert "could not be checked: 1" in caplog.text
    said = io.StringIO()
    call_command("audit", stdout=said)
    assert f"Starts that nothing confirms, since no log shows whether the job ran then:\n  {job} ({job.pk})" in (
        said.getvalue()
    )
    (check,) = site.check_starts(clock.now)
    assert (check.status, job.display_name in check.detail) == (Status.WARN, True)


def test_what_was_decided_is_not_listed(past: Past, clock: Clock) -> None:
    past.falsely_started().state("running", 60).state("succeeded", 70)

    repaired(past, clock)

    said = io.StringIO()
    call_command("audit", stdout=said)
    assert "Starts" not in said.getvalue()
    assert [check.status for check in site.check_starts(clock.now)] == [Status.PASS]


def test_a_pipelines_custom_job(request_job: RequestJob, clock: Clock) -> None:
    past = Past(request_job(kind="training_pipeline", strategy="SPOT", hours=1), clock)
    past.pipeline().custom("pending", "running", 2.147213).custom("running", "queued", 2.4)
    past.restarted(2.4).custom("queued", "running", 180).custom("running", "succeeded", 780).state("succeeded", 781)
    assert past.job.restarts == 1

    job = repaired(past, clock)

    assert (job.restarts, job.waited_again_seconds) == (0, 0)
    assert (job.started_at, job.running_seconds) == (past.at(180), 600)
    assert job.custom_job_state == "succeeded"


def test_a_true_restart_of_a_pipelines_custom_job_stays(request_job: RequestJob, clock: Clock) -> None:
    past = Past(request_job(kind="training_pipeline", strategy="SPOT", hours=1), clock).pipeline()
    past.custom("pending", "running", 60).custom("running", "queued", 120).restarted(120)
    past.custom("queued", "running", 180).custom("running", "succeeded", 780).state("succeeded", 781)

    job = repaired(past, clock)

    assert job.restarts == 1
    assert job.events.get(once_key=CHECKED).reason == CHECKED


def test_an_undecided_start_of_a_pipelines_custom_job_is_listed(request_job: RequestJob, clock: Clock) -> None:
    past = Past(request_job(kind="training_pipeline", strategy="SPOT", hours=1), clock).pipeline()
    past.custom("pending", "running", 2.9).custom("running", "queued", 3.1).restarted(3.1)

    job = repaired(past, clock)

    assert list(undecided_starts()) == [job]


def test_a_pipeline_without_a_restart_is_not_looked_at(request_job: RequestJob, clock: Clock) -> None:
    past = Past(request_job(kind="training_pipeline", hours=1), clock).pipeline()
    past.custom("pending", "running", 2.147213).custom("running", "succeeded", 780)
    past.state("pending", 785).state("succeeded", 790)

    repair_starts(past.at(900))

    assert not past.job.events.filter(once_key=CHECKED).exists()


def of_trial(past: Past, *changes: tuple[str, float]) -> Trial:
    states = [[state, past.at(seconds).isoformat()] for state, seconds in changes]
    number = str(past.job.trials.count() + 1)
    return Trial.objects.create(job=past.job, trial_id=number, state="SUCCEEDED", custom_job="c", job_states=states)


def test_the_custom_job_of_a_trial(request_job: RequestJob, clock: Clock) -> None:
    past = Past(request_job(kind="hyperparameter_tuning_job", hours=1), clock)
    ran = [("running", 180.0), ("succeeded", 780.0)]
    false = of_trial(past, ("", 0), ("running", 0.147213), ("queued", 0.4), *ran)
    others = [
        of_trial(past, ("", 0), ("running", 0.9), ("queued", 1.1), *ran),
        of_trial(past, ("", 0), ("pending", 0.147213), ("queued", 0.4), *ran),
        of_trial(past, ("", 0), ("running", 0.147213), ("succeeded", 0.4)),
        of_trial(past, ("", 0.852787), ("running", 1), ("queued", 1.2), *ran),
    ]
    states = false.job_states or []

    assert repair_starts(past.at(900)) == 1
    assert repair_starts(past.at(900)) == 0

    one, *rest = past.job.trials.order_by("pk")
    assert one.job_states == [states[0], *states[2:]]
    assert timeline.ran(one, past.at(900)) == timedelta(minutes=10)
    assert [each.job_states for each in rest] == [each.job_states for each in others]
    past.job.refresh_from_db()
    assert past.job.trial_seconds is not None
