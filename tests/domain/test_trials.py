"""Tests that trials of tuning jobs are stored as Vertex AI returns them: once, none invented, none revived."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import observation, requests, steps
from jobs.bounds import MAX_CLOCK_SKEW
from jobs.clients import client
from jobs.models import Job, JobFigures, LogLine, Trial
from jobs.observation.record import record
from jobs.observation.trials import read_trials
from jobs.requests.learned_figures import load_learned
from jobs.upkeep.figures import count_ended
from jobs.vertex import timestamp
from tests.domain.conftest import Cloud, RequestJob, look, watch

pytestmark = pytest.mark.both_databases

Tell = Callable[..., None]
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def sweep(request_job: RequestJob, cloud: Cloud) -> Job:
    """A tuning job of four trials, two at a time, that Vertex AI has just accepted."""
    job = request_job(kind="hyperparameter_tuning_job", hours=0.01)
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    return job


@pytest.fixture
def tell(sweep: Job, cloud: Cloud) -> Tell:
    """`tell(trials, minutes=3)` records an answer of so many minutes from now that holds these trials.

    What the answer to the creation told is forgotten first.
    """
    sweep.trials.all().delete()

    def answer(trials: Any, *, minutes: float = 0) -> None:
        remote = client().get(sweep.kind, sweep.remote_name)
        now = cloud.now + timedelta(minutes=minutes)
        raw = remote.raw | {"updateTime": timestamp(now), "trials": trials}
        record(sweep, replace(remote, raw=raw), now=now)

    return answer


def trial(number: int, state: str = "ACTIVE", **more: Any) -> dict[str, Any]:
    return {"id": str(number), "state": state, "startTime": "2026-03-02T09:05:00Z"} | more


def measured(value: float) -> dict[str, Any]:
    return {"finalMeasurement": {"stepCount": "12", "metrics": [{"metricId": "accuracy", "value": value}]}}


class TestFromBeginningToEnd:
    def test_every_trial_is_as_vertex_ai_has_it(self, sweep: Job, cloud: Cloud) -> None:
        watch(cloud, sweep, minutes=300, every=60)

        truth = client().get(sweep.kind, sweep.remote_name).raw["trials"]
        rows = list(sweep.trials.order_by("pk"))
        assert len(rows) == len(truth) == 4
        for row, told in zip(rows, truth, strict=True):
            assert (row.trial_id, row.state, row.custom_job) == (told["id"], told["state"], told["customJob"])
            assert row.parameters == {one["parameterId"]: one["value"] for one in told["parameters"]}
            final = told["finalMeasurement"]
            assert row.metrics == {one["metricId"]: one["value"] for one in final["metrics"]}
            assert row.step_count == int(final["stepCount"])
            assert row.started_at == cloud.moment(told["startTime"])
            assert row.ended_at == cloud.moment(told["endTime"])

    def test_trials_of_a_pipeline_that_tunes_are_those_of_its_tuning_job(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        job = request_job(kind="training_pipeline", tunes=True, hours=0.01)
        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        watch(cloud, job, minutes=300, every=60)
        cloud.fail("hyperparameterTuningJobs.get", "503")
        for _ in range(6):
            cloud.forward(minutes=1)
            look(cloud)

        metadata = client().get(job.kind, job.remote_name).raw["trainingTaskMetadata"]
        study = client().get("hyperparameter_tuning_job", metadata["backingHyperparameterTuningJob"])
        truth = {one["id"]: one["state"] for one in study.raw["trials"]}
        assert {row.trial_id: row.state for row in job.trials.all()} == truth == dict.fromkeys("1234", "SUCCEEDED")
        names = set(LogLine.objects.filter(job=job).values_list("replica", flat=True))
        assert {"trial 1 workerpool0-0", "trial 4 workerpool0-0"} <= names
        job.refresh_from_db()
        assert job.log_complete

    def test_a_trial_on_spot_that_is_preempted_was_not_moved_by_maintenance(
        self, request_job: RequestJob, cloud: Cloud
    ) -> None:
        cloud.script("preempted")
        job = request_job(kind="hyperparameter_tuning_job", trials=1, parallel=1, hours=0.01)
        steps.advance(job.pk, clock=cloud.clock)
        for _ in range(60):
            cloud.forward(seconds=30)
            job.refresh_from_db()
            observation.follow_log(job, now=cloud.now)
            look(cloud)

        told = job.events.filter(kind="restarted").values_list("reason", "detail__replica")
        assert list(told) == [("preempted", "trial 1 workerpool0-0")] * 2
        assert job.restarts == 0, "the tuning job itself was not restarted"
        count_ended(cloud.now)
        row = JobFigures.objects.get()
        assert row.preemptions == 2
        assert row.teaches["sums"]["preemptions"] == 2
        assert 0 < row.teaches["sums"]["lost_seconds"] < row.teaches["sums"]["machine_seconds"]
        assert row.lost_micros > 0
        learned = load_learned(job.team, requests.submission_of(job), cloud.now, expected=None)["spot"]
        assert (learned.team.preemptions, learned.machines.preemptions) == (2, 2)

    def test_a_trial_that_fails_says_why(self, sweep: Job, tell: Tell) -> None:
        tell([trial(1, "INFEASIBLE", infeasibleReason="The replica exited with 1.")])

        row = sweep.trials.get()
        assert (row.state, row.infeasible_reason, row.metrics) == ("INFEASIBLE", "The replica exited with 1.", {})

    def test_a_custom_job_has_none(self, submitted: Job, cloud: Cloud) -> None:
        watch(cloud, submitted, minutes=60)

        assert submitted.state == "succeeded"
        assert not Trial.objects.exists()


class TestNews:
    def test_an_answer_that_says_nothing_new_writes_nothing(self, tell: Tell) -> None:
        tell([trial(1), trial(2)])

        with CaptureQueriesContext(connection) as queries:
            tell([trial(1), trial(2)])

        assert [each["sql"] for each in queries if "jobs_trial" in each["sql"] and "SELECT" not in each["sql"]] == []

    def test_takes_as_many_queries_for_two_trials_as_for_forty(self, tell: Tell) -> None:
        counts = []
        for many in (2, 40):
            tell([trial(number) for number in range(1, many + 1)], minutes=many)
            with CaptureQueriesContext(connection) as queries:
                tell([trial(number, "SUCCEEDED", **measured(many)) for number in range(1, many + 1)], minutes=many + 1)
            counts.append(len(queries))

        assert counts[0] == counts[1]

    def test_what_it_reported_on_its_way_is_kept_thinned(self, sweep: Job, tell: Tell) -> None:
        told = [
            {
                "stepCount": str(step),
                "elapsedDuration": f"{step}.5s",
                "metrics": [{"metricId": "accuracy", "value": step}],
            }
            for step in range(1, 251)
        ]

        tell([trial(1, measurements=told), trial(2, measurements=[{"metrics": []}, "odd"])])

        kept, none = (sweep.trials.get(trial_id=number).measurements for number in ("1", "2"))
        assert none is None
        assert kept is not None
        assert len(kept) <= 100
        assert kept[0] == [1, 1.5, {"accuracy": 1.0}]
        assert kept[-1] == [250, 250.5, {"accuracy": 250.0}]

    def test_an_answer_without_trials_takes_none_away(self, sweep: Job, tell: Tell) -> None:
        tell([trial(1)])
        tell([], minutes=1)
        tell(None, minutes=2)

        assert sweep.trials.get().state == "ACTIVE"

    def test_an_end_is_not_taken_back(self, sweep: Job, tell: Tell) -> None:
        tell([trial(1, "SUCCEEDED", **measured(0.9))])
        tell([trial(1, "ACTIVE")], minutes=1)

        row = sweep.trials.get()
        assert (row.state, row.metrics) == ("SUCCEEDED", {"accuracy": 0.9})

    def test_an_older_answer_changes_nothing(self, sweep: Job, tell: Tell) -> None:
        tell([trial(1, "STOPPING")], minutes=5)
        tell([trial(1, "ACTIVE"), trial(2)], minutes=3)

        assert sweep.trials.get().state == "STOPPING"

    def test_trials_are_no_events_of_the_job(self, sweep: Job, tell: Tell) -> None:
        tell([trial(1)])
        before = sweep.events.count()

        tell([trial(1, "SUCCEEDED"), trial(2)])

        assert sweep.events.count() == before

    def test_a_log_source_that_was_not_known_is_read_from_its_beginning(
        self, sweep: Job, cloud: Cloud, tell: Tell
    ) -> None:
        tell([trial(1, customJob="projects/1/locations/us-central1/customJobs/11")])
        Job.objects.filter(pk=sweep.pk).update(log_cursor_at=cloud.now)
        sweep.refresh_from_db()
        tell([trial(1, customJob="projects/1/locations/us-central1/customJobs/11")], minutes=1)
        sweep.refresh_from_db()
        assert sweep.log_cursor_at == cloud.now

        tell([trial(2, customJob="projects/1/locations/us-central1/customJobs/12")], minutes=2)

        sweep.refresh_from_db()
        assert sweep.log_cursor_at is None
        assert sweep.log_sources["12"] == "trial 2"


MALFORMED: list[Any] = [
    None, 7, "trial", [], {}, {"id": ""}, {"id": None, "state": "ACTIVE"}, {"id": {"a": 1}, "state": "ACTIVE"},
    {"id": "9", "state": ["ACTIVE"]}, {"id": "9", "state": "A" * 33}, {"id": "9" * 33, "state": "ACTIVE"},
    {"state": "ACTIVE"}, {"name": 3, "state": "ACTIVE"},
]  # fmt: skip


class TestMalformed:
    @pytest.mark.parametrize("entry", MALFORMED, ids=repr)
    def test_an_entry_that_cannot_be_read_takes_no_other_with_it(self, sweep: Job, tell: Tell, entry: Any) -> None:
        tell([trial(1), entry, trial(2)])

        assert sorted(sweep.trials.values_list("trial_id", flat=True)) == ["1", "2"]

    @pytest.mark.parametrize("entries", [None, "x", 4, {"id": "1"}, True], ids=repr)
    def test_what_is_no_list_holds_no_trials(self, entries: Any) -> None:
        assert list(read_trials(entries, NOW)) == []

    def test_what_is_odd_inside_a_trial_is_left_empty(self, sweep: Job, tell: Tell) -> None:
        odd = trial(
            1, "SUCCEEDED", startTime="yesterday", endTime=5, infeasibleReason=["x"], customJob=7,
            parameters=[None, {"parameterId": 3, "value": 1}, {"parameterId": "lr", "value": 0.1}, {"parameterId": "x"},
                        {"parameterId": "list", "value": [1]}, {"parameterId": "optimizer", "value": "adam"}],
            finalMeasurement={"stepCount": "many", "metrics": [
                {"metricId": "loss", "value": "NaN"}, {"metricId": "zero"}, {"metricId": "huge", "value": 10**400},
                {"metricId": "accuracy", "value": 1}]},
        )  # fmt: skip

        tell([odd])

        row = sweep.trials.get()
        assert row.parameters == {"lr": 0.1, "optimizer": "adam"}
        assert row.metrics == {"zero": 0.0, "accuracy": 1.0}
        assert (row.started_at, row.ended_at, row.step_count) == (None, None, None)
        assert (row.infeasible_reason, row.custom_job) == ("", "")

    def test_a_trial_is_known_by_the_end_of_its_name_too(self) -> None:
        (row,) = read_trials([{"name": "projects/1/locations/x/studies/5/trials/3", "parameters": "none"}], NOW)

        assert (row.trial_id, row.state) == ("3", "STATE_UNSPECIFIED")

    def test_times_in_the_future_are_ignored_as_for_jobs(self, sweep: Job, tell: Tell, cloud: Cloud) -> None:
        near, far = (timestamp(cloud.now + MAX_CLOCK_SKEW + timedelta(seconds=more)) for more in (-1, 1))

        tell([trial(1, startTime=near), trial(2, "SUCCEEDED", startTime=far, endTime=far)])

        first, second = sweep.trials.order_by("trial_id")
        assert first.started_at == cloud.now + MAX_CLOCK_SKEW - timedelta(seconds=1)
        assert (second.started_at, second.ended_at) == (None, None)

    def test_the_same_trial_twice_is_one_row(self, sweep: Job, tell: Tell) -> None:
        tell([trial(1), trial(1, "STOPPING")])

        assert sweep.trials.get().state == "STOPPING"
