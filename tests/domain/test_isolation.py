"""Tests that whatever Vertex AI and its logs return for one item, its neighbours are stored, on both databases."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, given, settings

from jobs import observation, steps, strategies
from jobs.bounds import MAX_CLOCK_SKEW
from jobs.clients import client
from jobs.models import Discovery, ExternalJob, Job, LogFeed, LogLine, PersistentResource, Scope, Team
from jobs.observation.adopt import CannotAdopt
from jobs.queue import claims
from jobs.vertex import timestamp
from tests.domain.conftest import Cloud, RequestJob
from tests.support import hostile
from tests.support.examples import examples

pytestmark = [pytest.mark.django_db, pytest.mark.search]
Answer = Callable[[Any], Any]
PLACE = "projects/vision-research/locations/us-central1"
any_example = settings(
    max_examples=examples(3), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


class Answers:
    """What the client reads, instead of what the emulator answers to the same calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_end: dict[str, Any] = {}
        monkeypatch.setattr("jobs.vertex.caller.answers.read", self._read)

    def _read(self, call: Any, _status: int, _headers: Any, content: bytes) -> Any:
        found = next((answer for end, answer in self.by_end.items() if call.url.endswith(end)), None)
        return json.loads(content) if found is None else found


@pytest.fixture
def answers(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """`answers.by_end["customJobs"] = {...}` answers every call whose address ends so."""
    return Answers(monkeypatch)


@contextmanager
def undone() -> Iterator[None]:
    """Take back what an example wrote."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def submit(request_job: RequestJob, cloud: Cloud, **changes: Any) -> Job:
    job = request_job(hours=0.01, **changes)
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    return job


def running(job: Job, cloud: Cloud) -> dict[str, Any]:
    """The job's document as Vertex AI has it, and that it runs, with an error whose every part is there."""
    raw = client().get(job.kind, job.remote_name).raw
    suffix = "PIPELINE" if job.kind == Job.Kind.PIPELINE else "JOB"
    now = timestamp(cloud.now)
    error = {"code": 3, "message": "m", "details": [{"@type": "x", "reason": "y"}]}
    return raw | {"state": f"{suffix}_STATE_RUNNING", "startTime": now, "updateTime": now, "error": error}


class TestJobs:
    @pytest.fixture(params=["custom_job", "training_pipeline"])
    def pair(self, request: pytest.FixtureRequest, request_job: RequestJob, cloud: Cloud) -> list[Job]:
        """Two jobs at Vertex AI. The tests return invalid answers about the first."""
        return [submit(request_job, cloud, kind=request.param) for _ in range(2)]

    def test_one_odd_job_stops_no_other(self, pair: list[Job], answers: Answers, cloud: Cloud) -> None:
        first, second = (running(job, cloud) for job in pair)
        cloud.forward(minutes=1)

        def observe(odd: Any) -> None:
            collection = first["name"].split("/")[-2]
            neighbour = second | {"updateTime": timestamp(cloud.now), "error": None}
            answers.by_end = {collection: {collection: [odd, neighbour]}, first["name"]: odd}
            with undone():
                look_at(pair[0], cloud)
                assert Job.objects.get(pk=pair[1].pk).state == "running"
                assert Scope.objects.get(kind=pair[0].kind).failures == 0

        for odd in hostile.each(first, keep=(("name",),)):
            observe(odd)
        any_example(given(hostile.documents(first))(observe))()

    def test_a_later_good_answer_is_believed(self, pair: list[Job], answers: Answers, cloud: Cloud) -> None:
        job, document = pair[0], running(pair[0], cloud) | {"error": None}
        collection = document["name"].split("/")[-2]
        for odd in hostile.each(document, keep=(("name",), ("state",), ("error",))):
            with undone():
                cloud.forward(minutes=1)
                for answer in (odd, document | {"updateTime": timestamp(cloud.now), "state": "JOB_STATE_SUCCEEDED"}):
                    answers.by_end = {collection: {collection: [answer]}, document["name"]: answer}
                    look_at(job, cloud)
                assert Job.objects.get(pk=job.pk).state == "succeeded", odd["updateTime"]

    def test_times_in_the_future_are_ignored(self, request_job: RequestJob, answers: Answers, cloud: Cloud) -> None:
        job = submit(request_job, cloud)
        later = timestamp(cloud.now + timedelta(hours=2))
        document = running(job, cloud) | {"error": None}
        odd = document | {"startTime": later, "updateTime": later}
        for answer in (odd, document | {"updateTime": timestamp(cloud.now), "state": "JOB_STATE_SUCCEEDED"}):
            answers.by_end = {"customJobs": {"customJobs": [answer]}, document["name"]: answer}
            look_at(job, cloud)

        job.refresh_from_db()
        assert job.state == "succeeded"
        assert job.started_at == cloud.now
        assert all(event.occurred_at <= cloud.now for event in job.events.all())


def look_at(job: Job, cloud: Cloud) -> None:
    scope = claims.wake_scope(project=job.project, region=job.region, kind=job.kind, due_at=cloud.now)
    steps.observe(scope.pk, clock=cloud.clock)


class TestTrials:
    def test_one_odd_trial_stops_no_other(self, request_job: RequestJob, answers: Answers, cloud: Cloud) -> None:
        job = submit(request_job, cloud, kind="hyperparameter_tuning_job")
        cloud.forward(minutes=20)
        document = client().get(job.kind, job.remote_name).raw
        entry = document["trials"][0] | {
            "infeasibleReason": "r", "customJob": "projects/1/locations/r/customJobs/7", "state": "INFEASIBLE",
            "finalMeasurement": {"stepCount": "3", "metrics": [{"metricId": "accuracy", "value": 0.5}]},
        }  # fmt: skip

        def observe(odd: Any) -> None:
            neighbours = [entry | {"id": "998"}, entry | {"id": "999"}]
            whole = document | {"updateTime": timestamp(cloud.now), "trials": [neighbours[0], odd, neighbours[1]]}
            answers.by_end = {job.remote_name: whole}
            with undone():
                look_at(job, cloud)
                assert set(job.trials.values_list("trial_id", flat=True)) >= {"998", "999"}
                assert Scope.objects.get().failures == 0

        for odd in hostile.each(entry):
            observe(odd)
        any_example(given(hostile.documents(entry))(observe))()


ENTRY = {
    "insertId": "i", "severity": "ERROR",
    "timestamp": "2026-03-02T09:00:30.5Z", "receiveTimestamp": "2026-03-02T09:00:31Z",
    "jsonPayload": {"message": "The replica workerpool0-0 exited with a non-zero status of 1.", "levelname": "ERROR"},
    "textPayload": "", "protoPayload": {"@type": "x"},
    "labels": {"ml.googleapis.com/task_name": "workerpool0-0", "ml.googleapis.com/job_id": "7"},
    "resource": {"type": "ml_job", "labels": {"task_name": "workerpool0-0", "job_id": "7"}},
}  # fmt: skip


class TestLogs:
    @pytest.mark.parametrize("replica", ["service", "workerpool0-0"])
    def test_one_odd_line_stops_no_other(
        self, request_job: RequestJob, answers: Answers, cloud: Cloud, replica: str
    ) -> None:
        job = submit(request_job, cloud)
        labels = {"task_name": replica, "job_id": job.remote_id}
        entry = ENTRY | {"resource": {"type": "ml_job", "labels": labels}}
        cloud.forward(minutes=1)
        observation.follow_log(job, now=cloud.now)

        def read(odd: Any) -> None:
            lines = [entry | {"insertId": "before"}, odd, entry | {"insertId": "after"}]
            answers.by_end = {"entries:list": {"entries": lines}}
            with undone():
                read_log(cloud)
                assert set(LogLine.objects.values_list("insert_id", flat=True)) >= {"before", "after"}
                feed = LogFeed.objects.get()
                assert feed.failures == 0
                assert feed.cursor_at is None or feed.cursor_at <= cloud.now
                job.refresh_from_db()
                assert job.log_cursor_at is None or job.log_cursor_at <= cloud.now

        for odd in hostile.each(entry):
            read(odd)
        any_example(given(hostile.documents(entry))(read))()


def read_log(cloud: Cloud) -> None:
    (feed_id,) = steps.due_feeds(cloud.now)
    observation.read_feed(feed_id, now=cloud.now)


class TestPersistentResources:
    def test_one_odd_resource_stops_no_other(self, team: Team, answers: Answers, cloud: Cloud) -> None:
        observation.follow_resources([team.project], region="us-central1", now=cloud.now)
        (scope_id,) = steps.due_scopes(cloud.now)
        entry = {
            "name": f"{PLACE}/persistentResources/odd-one", "displayName": "d", "state": "RUNNING",
            "labels": {"a": "b"}, "createTime": "2026-03-02T09:00:00Z", "error": {"code": 3, "message": "m"},
            "resourcePools": [{"id": "p", "machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "2",
                               "usedReplicaCount": "1", "diskSpec": {"bootDiskSizeGb": 100}}],
        }  # fmt: skip

        def observe(odd: Any) -> None:
            neighbours = [entry | {"name": f"{PLACE}/persistentResources/{name}"} for name in ("before", "after")]
            answers.by_end = {"persistentResources": {"persistentResources": [neighbours[0], odd, neighbours[1]]}}
            with undone():
                steps.observe(scope_id, clock=cloud.clock)
                assert set(PersistentResource.objects.values_list("resource_id", flat=True)) >= {"before", "after"}
                assert Scope.objects.get().failures == 0

        for odd in hostile.each(entry):
            observe(odd)
        any_example(given(hostile.documents(entry))(observe))()


class TestAdoption:
    @pytest.mark.parametrize("kind", ["customJobs", "hyperparameterTuningJobs", "trainingPipelines"])
    def test_one_odd_job_stops_no_other(
        self, team: Team, owner: User, request_job: RequestJob, answers: Answers, cloud: Cloud, kind: str
    ) -> None:
        asked = observation.request_discovery(project=team.project, region="us-central1", by=owner, now=cloud.now)
        kinds = {"customJobs": "custom_job", "hyperparameterTuningJobs": "hyperparameter_tuning_job"}
        entry = running(submit(request_job, cloud, kind=kinds.get(kind, "training_pipeline")), cloud)
        entry["labels"] = {"made": "elsewhere"}
        names = [f"{PLACE}/{kind}/{number}" for number in (1, 2, 3)]

        def discovery(odd: Any) -> None:
            found = [entry | {"name": names[0]}, odd, entry | {"name": names[2]}]
            answers.by_end = {kind: {kind: found}, **dict(zip(names, found, strict=True))}
            with undone():
                observation.discover(asked.pk, now=cloud.now)
                assert set(ExternalJob.objects.values_list("remote_name", flat=True)) >= {names[0], names[2]}
                assert Discovery.objects.get().failures == 0
                assert not ExternalJob.objects.filter(created_at__gt=cloud.now + MAX_CLOCK_SKEW).exists()
                for external in ExternalJob.objects.select_related("discovery"):
                    adopt(external, team, owner, cloud)

        for odd in hostile.each(entry | {"name": names[1]}, keep=(("name",),)):
            discovery(odd)
        any_example(given(hostile.documents(entry | {"name": names[1]}))(discovery))()


def adopt(external: ExternalJob, team: Team, owner: User, cloud: Cloud) -> None:
    submission, _ = observation.submission_in(external)  # what the page of found jobs shows
    assert strategies.strategy_of(submission).label
    assert isinstance(f"{submission.machines_summary} {observation.hint_of(external)}", str)
    with suppress(CannotAdopt):
        job = observation.adopt(external, team=team, by=owner, now=cloud.now)
        assert Job.objects.get(pk=job.pk).remote_name == external.remote_name
