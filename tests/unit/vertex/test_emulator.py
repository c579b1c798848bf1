"""Tests of the client against the emulator, written from Google's reference alone: both must agree."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from jobs.vertex import (
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    Refused,
    RemoteJob,
    Timeout,
    Unavailable,
    VertexClient,
)
from tests.support.running_emulator import Running

WHERE = {"project": "my-project", "region": "us-central1"}
FIELDS = ("name", "displayName", "state", "createTime", "startTime", "endTime", "updateTime", "error", "labels")


@pytest.fixture
def real(emulator: Running) -> Iterator[VertexClient]:
    yield VertexClient(endpoint=emulator.url, timeout=Timeout(connect=5, read=1, total=20))
    emulator.forget_faults()


def body(name: str, script: str = "happy", **labels: str) -> dict[str, Any]:
    return {
        "displayName": name,
        "labels": {"emulator_script": script, **labels},
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {"machineType": "n1-standard-4"},
                    "replicaCount": "1",
                    "containerSpec": {"imageUri": "us-docker.pkg.dev/trainboard/samples/penguins:latest"},
                }
            ]
        },
    }


def create(client: VertexClient, name: str, script: str = "happy", **labels: str) -> RemoteJob:
    return client.create("custom_job", **WHERE, body=body(name, script, **labels))


class TestLife:
    def test_job_is_followed_from_its_creation_to_its_end(self, emulator: Running, real: VertexClient) -> None:
        created = create(real, "whole-life")
        emulator.advance(180)
        started = real.get("custom_job", created.name)
        emulator.advance(1_000)
        ended = real.get("custom_job", created.name)

        assert [job.state.removeprefix("JOB_STATE_") for job in (created, started, ended)] == [
            "PENDING",
            "RUNNING",
            "SUCCEEDED",
        ]
        assert created.create_time is not None
        assert started.start_time is not None
        assert ended.end_time is not None
        assert created.create_time < started.start_time < ended.end_time
        assert ended.start_time == started.start_time
        assert (created.display_name, created.labels["emulator_script"]) == ("whole-life", "happy")

    def test_failed_job_tells_why_a_minute_later(self, emulator: Running, real: VertexClient) -> None:
        name = create(real, "too-big", "oom").name
        emulator.advance(20_000)

        job = real.get("custom_job", name)

        assert job.state == "JOB_STATE_FAILED"
        assert job.error is not None
        assert (job.error["code"], job.error["message"][:22]) == (8, "Replicas low on memory")

    def test_cancelled_job_ends_as_cancelled(self, emulator: Running, real: VertexClient) -> None:
        name = create(real, "not-wanted", "long").name
        emulator.advance(180)

        real.cancel("custom_job", name)
        emulator.advance(300)

        job = real.get("custom_job", name)
        assert (job.state, (job.error or {}).get("code")) == ("JOB_STATE_CANCELLED", 1)

    def test_ended_job_can_be_deleted_and_is_gone(self, emulator: Running, real: VertexClient) -> None:
        name = create(real, "to-delete", "short").name
        emulator.advance(2_000)

        real.delete("custom_job", name)

        with pytest.raises(NotFound):
            real.get("custom_job", name)

    def test_unknown_state_is_kept_as_it_is(self, emulator: Running, real: VertexClient) -> None:
        name = create(real, "odd", "strange").name

        seen = set()
        for _ in range(60):
            emulator.advance(20)
            seen.add(real.get("custom_job", name).state)

        assert "JOB_STATE_REBALANCING" in seen


class TestList:
    def test_finds_by_label_and_state_over_several_pages(self, emulator: Running, real: VertexClient) -> None:
        names = {create(real, f"many-{number}", "long", batch="many").name for number in range(103)}
        finished = create(real, "many-short", "short", batch="many").name
        emulator.advance(2_000)

        active = real.list(
            "custom_job", **WHERE, filter='labels.batch="many" AND state!="JOB_STATE_SUCCEEDED"', fields=FIELDS
        )
        everything = real.list("custom_job", **WHERE, filter='labels.batch="many"')

        assert {job.name for job in active} == names
        assert {job.name for job in everything} == names | {finished}
        assert all(job.state == "JOB_STATE_RUNNING" for job in active)
        assert all("jobSpec" not in job.raw for job in active)
        assert all("jobSpec" in job.raw for job in everything)

    def test_region_without_jobs_is_empty(self, real: VertexClient) -> None:
        assert real.list("custom_job", project="my-project", region="europe-west4") == []


class TestLog:
    def test_reads_service_lines_in_order_and_from_where_it_stopped(
        self, emulator: Running, real: VertexClient
    ) -> None:
        job = create(real, "talkative")
        number = job.name.rpartition("/")[2]
        emulator.advance(1_000)

        first = real.log("my-project", job_ids=[number], after=job.create_time, limit=3)
        rest = real.log("my-project", job_ids=[number], after=first[-1].timestamp, limit=100)

        lines = {(line.timestamp, line.insert_id): line for line in first + rest}
        service = [line.message for line in lines.values() if line.replica == "service"]
        assert len(first) == 3
        assert service[0] == "Waiting for job to be provisioned."
        assert service[-1] == "Job completed successfully."
        assert len(set(service)) == len(service)
        assert {line.job_id for line in lines.values()} == {number}
        assert [line.timestamp for line in lines.values()] == sorted(line.timestamp for line in lines.values())

    def test_job_without_lines_has_none(self, real: VertexClient) -> None:
        assert real.log("my-project", job_ids=["1"], after=None, limit=10) == []


class TestTrouble:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ("400", Refused),
            ("403", PermissionDenied),
            ("404", NotFound),
            ("409", Unavailable),
            ("429", RateLimited),
            ("500", Unavailable),
            ("503", Unavailable),
            ("504", Unavailable),
            ("html", Unavailable),
            ("truncated", Unavailable),
            ("reset", Unavailable),
            ("lost", Unavailable),
        ],
    )
    @pytest.mark.parametrize(
        ("method", "call"),
        [
            ("customJobs.create", lambda client: create(client, "unlucky", "short")),
            ("customJobs.list", lambda client: client.list("custom_job", **WHERE)),
            ("entries.list", lambda client: client.log("my-project", job_ids=["1"], after=None, limit=1)),
        ],
    )
    def test_every_fault_has_its_error(
        self,
        emulator: Running,
        real: VertexClient,
        fault: str,
        error: type[Exception],
        method: str,
        call: Callable[[VertexClient], object],
    ) -> None:
        emulator.fault(fault, method, times=1)

        with pytest.raises(error):
            call(real)

    def test_slow_answer_is_given_up(self, emulator: Running, real: VertexClient) -> None:
        emulator.fault("slow", "customJobs.list", times=1, seconds=3)

        with pytest.raises(Unavailable, match="did not answer in time"):
            real.list("custom_job", **WHERE)

    def test_wait_that_was_asked_for_is_told(self, emulator: Running, real: VertexClient) -> None:
        emulator.fault("429", "customJobs.list", times=1, retry_after=5)

        with pytest.raises(RateLimited) as caught:
            real.list("custom_job", **WHERE)

        assert caught.value.retry_after == timedelta(seconds=5)

    def test_lost_answer_to_a_create_leaves_a_job_that_the_label_finds(
        self, emulator: Running, real: VertexClient
    ) -> None:
        emulator.fault("lost", "customJobs.create", times=1)

        with pytest.raises(Unavailable) as caught:
            create(real, "lost", trainboard_job="5f0c")

        found = real.list("custom_job", **WHERE, filter='labels.trainboard_job="5f0c"')
        assert caught.value.may_have_happened is True
        assert [job.display_name for job in found] == ["lost"]

    def test_short_quota_names_its_metric(self, real: VertexClient) -> None:
        with pytest.raises(QuotaExceeded) as caught:
            create(real, "too-much", "quota")

        assert all(metric.startswith("aiplatform.googleapis.com/") for metric in caught.value.metrics)
        assert caught.value.metrics

    def test_refusal_points_at_the_field(self, real: VertexClient) -> None:
        job = body("half-an-accelerator")
        job["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["acceleratorType"] = "NVIDIA_TESLA_T4"

        with pytest.raises(Refused) as caught:
            real.create("custom_job", **WHERE, body=job)

        assert any("workerPoolSpecs[0].machineSpec" in field for field, _ in caught.value.violations)
