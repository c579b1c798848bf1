"""Tests that a tuning job costs the machine time of its trials. Waiting trials cost nothing, whatever fails."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from jobs import steps, timeline
from jobs.cost import accrued
from jobs.models import Job, Trial, UnmatchedJob
from jobs.states import JobState
from jobs.upkeep import spending
from tests.domain.conftest import Cloud, RequestJob, look, watch
from tests.support.truth import machine_spans

ONE_GPU = {"quotas": {"us-central1": {"custom_model_training_preemptible_nvidia_a100_gpus": 1}}}
KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "hyperparameter_tuning_job"},
    {"kind": "training_pipeline", "tunes": True},
)


def begin(request_job: RequestJob, cloud: Cloud, **changes: Any) -> Job:
    """A tuning job that Vertex AI has just accepted: four trials, two at a time."""
    job = request_job(**({"kind": "hyperparameter_tuning_job", "hours": 0.01} | changes))
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    return job


def go_on(cloud: Cloud, job: Job, *, minutes: float, every: float = 15) -> None:
    until = cloud.now + timedelta(minutes=minutes)
    while cloud.now < until:
        cloud.forward(seconds=every)
        look(cloud)
    job.refresh_from_db()


@pytest.mark.parametrize("changes", KINDS)
def test_trials_with_the_labels_of_their_job_are_no_second_jobs_of_it(
    request_job: RequestJob, cloud: Cloud, changes: dict[str, Any]
) -> None:
    """Every place is looked at where they are listed, that of custom jobs because another job is there."""
    job = begin(request_job, cloud, **changes)
    steps.advance(request_job(name="beside").pk, clock=cloud.clock)

    go_on(cloud, job, minutes=30, every=30)

    assert len(cloud.jobs()) > 2, "the trials are listed as custom jobs"
    assert not job.events.filter(kind="duplicate").exists()
    assert not UnmatchedJob.objects.exists()
    assert not {call for call in cloud.calls() if call.endswith(".cancel")}
    assert job.state == JobState.SUCCEEDED


def trial(job: Job, number: int) -> Trial:
    return job.trials.get(trial_id=str(number))


def machines_ran(cloud: Cloud, job: Job) -> list[timedelta]:
    """How long the machines of each trial ran, as the emulator remembers it."""
    lives = [cloud.truth(row.custom_job) for row in job.trials.order_by("pk")]
    return [sum((end - start for start, end in machine_spans(life)), timedelta()) for life in lives]


def bill(cloud: Cloud, job: Job) -> Decimal:
    assert job.hourly_usd is not None
    half_minutes = sum(-(-ran // timedelta(seconds=30)) for ran in machines_ran(cloud, job))
    return job.hourly_usd / 2 * half_minutes / 120


def cents(usd: Decimal | None) -> Decimal:
    assert usd is not None
    return usd.quantize(Decimal("0.0001"))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind["kind"]))
class TestCost:
    def test_follows_the_custom_jobs_of_the_trials(
        self, request_job: RequestJob, cloud: Cloud, kind: dict[str, Any]
    ) -> None:
        job = begin(request_job, cloud, **kind)
        watch(cloud, job, minutes=300, every=15)
        go_on(cloud, job, minutes=3)

        assert job.state == JobState.SUCCEEDED
        assert cents(timeline.cost_so_far(job, cloud.now)) == cents(bill(cloud, job))
        assert job.trials_running == 0
        paid_before = accrued(job.hourly_usd, timeline.running(job, cloud.now))
        assert paid_before is not None
        assert bill(cloud, job) < paid_before, "the time in which the job itself was RUNNING would cost more"

    def test_of_a_trial_that_waits_for_quota_is_nothing(
        self, request_job: RequestJob, cloud: Cloud, kind: dict[str, Any]
    ) -> None:
        cloud.capacity(ONE_GPU)
        job = begin(request_job, cloud, **kind)
        go_on(cloud, job, minutes=8)

        first, second = trial(job, 1), trial(job, 2)
        assert (first.state, second.state) == ("ACTIVE", "ACTIVE"), "what Vertex AI says of both"
        assert (timeline.is_running(first), timeline.is_running(second)) == (True, False)
        assert timeline.wait_words(job, second) == "waits for Spot capacity or quota"
        assert timeline.wait_words(job, first) == ""
        assert (job.parallel_trials, job.trials_running) == (2, 1)
        assert timeline.ran(second, cloud.now) == timedelta()
        assert timeline.trial_waited(second, cloud.now) > timedelta(minutes=7)
        study = timeline.study(job, job.trials.all())
        assert study is not None
        assert timeline.to_come_words(study) == "2 of 2 parallel trials are under way: 1 running, 1 waiting"
        half = job.hourly_usd and job.hourly_usd / 2
        assert timeline.cost_so_far(job, cloud.now) == accrued(half, timeline.ran(first, cloud.now))

    def test_of_a_preempted_trial_leaves_out_its_wait(
        self, request_job: RequestJob, cloud: Cloud, kind: dict[str, Any]
    ) -> None:
        cloud.script("preempted")
        job = begin(request_job, cloud, trials=2, **kind)
        watch(cloud, job, minutes=60, every=10)
        go_on(cloud, job, minutes=3)

        for row, ran in zip(job.trials.order_by("pk"), machines_ran(cloud, job), strict=True):
            states = [span.state for span in timeline.machine_states(row)]
            assert states.count("running") == 3, "twice restarted"
            assert abs(timeline.ran(row, cloud.now) - ran) < timedelta(seconds=1)


class TestWorldOutside:
    def test_a_failing_call_changes_nothing_and_is_made_again(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = begin(request_job, cloud)
        go_on(cloud, job, minutes=6)
        before = list(job.trials.order_by("pk").values_list("job_states", flat=True))
        cloud.fail("customJobs.get", "503", times=100)
        go_on(cloud, job, minutes=2)
        assert list(job.trials.order_by("pk").values_list("job_states", flat=True)) == before
        assert job.trials_running == 2

        cloud.forget_faults()
        watch(cloud, job, minutes=300, every=15)
        go_on(cloud, job, minutes=3)

        assert cents(timeline.cost_so_far(job, cloud.now)) == cents(bill(cloud, job))

    def test_what_failed_at_the_end_is_asked_for_after_it(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = begin(request_job, cloud, trials=2)
        go_on(cloud, job, minutes=6)
        cloud.fail("customJobs.get", "503", times=1000)
        watch(cloud, job, minutes=60, every=15)
        assert job.state == JobState.SUCCEEDED
        assert not any(job.trials.values_list("job_is_settled", flat=True))
        cloud.forget_faults()
        go_on(cloud, job, minutes=3)

        assert all(job.trials.values_list("job_is_settled", flat=True))
        assert cents(timeline.cost_so_far(job, cloud.now)) == cents(bill(cloud, job))

    def test_a_custom_job_that_was_deleted_leaves_the_trials_own_end(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = begin(request_job, cloud, trials=3)
        go_on(cloud, job, minutes=6)
        cloud.fail("customJobs.get", "404", times=1000)
        watch(cloud, job, minutes=60, every=15)

        first = trial(job, 1)
        assert first.job_is_settled
        assert first.ended_at is not None
        assert timeline.machine_states(first)[-1].end == first.ended_at

    def test_what_has_ended_is_asked_for_no_more(self, request_job: RequestJob, cloud: Cloud) -> None:
        job = begin(request_job, cloud)
        watch(cloud, job, minutes=300, every=60)
        go_on(cloud, job, minutes=3)
        before = cloud.calls()["customJobs.get"]
        go_on(cloud, job, minutes=5)

        assert cloud.calls()["customJobs.get"] == before

    def test_a_study_with_many_trials_at_once_is_asked_for_in_portions(
        self, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("jobs.observation.trial_jobs.AT_ONCE", 3)
        job = begin(request_job, cloud, trials=8, parallel=8)
        go_on(cloud, job, minutes=0.25)
        assert job.trials.exclude(job_asked_at=None).count() == 3
        go_on(cloud, job, minutes=0.5)

        assert job.trials.exclude(job_asked_at=None).count() == 8


class TestOverrun:
    def test_a_job_whose_trials_wait_is_not_over_what_was_approved(self, request_job: RequestJob, cloud: Cloud) -> None:
        cloud.capacity(ONE_GPU)
        job = begin(request_job, cloud)
        go_on(cloud, job, minutes=6)
        one = timeline.cost_so_far(job, cloud.now)
        assert one is not None
        Job.objects.filter(pk=job.pk).update(approved_usd=(one * Decimal("1.5")).quantize(Decimal("0.01")))

        assert spending.watch_spending(cloud.now) == 0
        Job.objects.filter(pk=job.pk).update(approved_usd=(one / 2).quantize(Decimal("0.01")))
        assert spending.watch_spending(cloud.now) == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind["kind"]))
class TestEnd:
    def test_a_success_tells_what_succeeded(self, request_job: RequestJob, cloud: Cloud, kind: dict[str, Any]) -> None:
        job = begin(request_job, cloud, **kind)
        watch(cloud, job, minutes=300, every=60)

        best = max(job.trials.all(), key=lambda row: row.metrics["accuracy"])
        came = f"4 trials: 4 succeeded; best accuracy {best.metrics['accuracy']:.5g} by trial {best.trial_id}"
        assert job.trials_summary == came
        assert job.events.get(to_state="succeeded").message == f"The tuning job succeeded. {came}."

    def test_a_failure_tells_which_trials_failed_and_how_many_might(
        self, request_job: RequestJob, cloud: Cloud, kind: dict[str, Any]
    ) -> None:
        cloud.script("oom")
        job = begin(request_job, cloud, failed=2, **kind)
        watch(cloud, job, minutes=300, every=60)

        message = job.events.get(to_state="failed").message
        assert job.state == JobState.FAILED
        assert message.startswith("The job failed: Too many trials have failed")
        assert message.endswith("3 trials: 3 infeasible. Trials 1, 2, 3 are infeasible; maxFailedTrialCount is 2.")


def test_the_moment_of_a_state_is_its_own_and_not_when_it_was_seen(request_job: RequestJob, cloud: Cloud) -> None:
    job = begin(request_job, cloud, trials=1, parallel=1)
    watch(cloud, job, minutes=300, every=240)
    go_on(cloud, job, minutes=3)

    (row,) = job.trials.all()
    told = cloud.job(row.custom_job)
    times = [datetime.fromisoformat(at) for _, at in row.job_states or ()]
    assert times[-1] == cloud.moment(told["endTime"])
    assert cloud.moment(told["startTime"]) in times


def test_the_trials_of_a_pipeline_are_known_where_nobody_may_read_logs(request_job: RequestJob, cloud: Cloud) -> None:
    job = begin(request_job, cloud, kind="training_pipeline", tunes=True)
    cloud.fail("entries.list", "403", times=10_000)
    watch(cloud, job, minutes=300, every=30)

    assert job.trials_summary.startswith("4 trials: 4 succeeded")
    assert cents(timeline.cost_so_far(job, cloud.now)) == cents(bill(cloud, job))
