"""Tests of machine utilization: real processes in the emulator, its Cloud Monitoring, the reader, the page's record."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import googleapiclient
import pytest

from emulator.replicas.usage import cpu_seconds
from jobs.metrics import Record, Totals
from jobs.models import Job, JobMetrics
from jobs.observation import machine_usage
from jobs.vertex import VertexClient, monitoring
from tests.domain.conftest import Cloud
from tests.support.running_emulator import running

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BUSY = "import time\nend = time.time() + 3\nwhile time.time() < end: pass"


@pytest.fixture
def running_job(submitted: Job) -> Job:
    """A job that runs since it was requested."""
    Job.objects.filter(pk=submitted.pk).update(log_sources={submitted.remote_id: ""}, started_at=submitted.requested_at)
    submitted.refresh_from_db()
    return submitted


class Monitoring:
    """Cloud Monitoring as the reader sees it, with two replicas and no accelerator."""

    def __init__(self, *points: monitoring.Point) -> None:
        self.points = list(points)

    def used(self, _project: str, metric: str, **_: Any) -> list[monitoring.Point]:
        return self.points if metric == "CPU" else []


def record(job: Job) -> Record:
    return Record.load(JobMetrics.objects.get(job=job).usage, Totals())


def test_the_mean_of_each_whole_minute_is_kept_once(
    running_job: Job, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = cloud.now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    told = Monitoring((began, 0.5), (began + timedelta(seconds=30), 0.7), (began + timedelta(minutes=3), 0.1))
    monkeypatch.setattr(machine_usage, "client", lambda _acts_as: told)

    machine_usage.read_usage(running_job, now=began + timedelta(minutes=2))
    machine_usage.read_usage(running_job, now=began + timedelta(minutes=3, seconds=30))

    (series,) = record(running_job).series
    assert (series.name, [value for _, _, value in series.points]) == ("CPU", [0.6])


def test_the_emulators_answer_without_samples_is_read(running_job: Job, cloud: Cloud) -> None:
    machine_usage.read_usage(running_job, now=cloud.now)

    assert record(running_job).series == []
    assert JobMetrics.objects.get(job=running_job).usage_error == ""
    assert cloud.calls()["timeSeries.list"] == len(monitoring.METRICS)


def test_what_goes_wrong_is_written_down_and_changes_nothing(running_job: Job, cloud: Cloud, settings: Any) -> None:
    settings.MONITORING_ENDPOINT = "http://127.0.0.1:9"
    before = Job.objects.filter(pk=running_job.pk).values().get()

    machine_usage.read_usage(running_job, now=cloud.now)

    assert "Cloud Monitoring returned nothing" in JobMetrics.objects.get(job=running_job).usage_error
    assert Job.objects.filter(pk=running_job.pk).values().get() == before


def test_the_request_is_one_that_the_api_knows() -> None:
    documents = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    methods = json.loads((documents / "monitoring.v3.json").read_text())["resources"]["projects"]["resources"]
    known = methods["timeSeries"]["methods"]["list"]

    path, query = monitoring.list_path("vision", "CPU", "123", since=NOON, until=NOON)

    assert known["flatPath"] == "v3/projects/{projectsId}/timeSeries"
    assert path == "/v3/projects/vision/timeSeries"
    assert set(query) <= set(known["parameters"])


@pytest.mark.parametrize("value", [None, [], {"points": 3}, {"points": [{"value": {"doubleValue": "x"}}, 7, {}]}])
def test_an_odd_series_has_no_points(value: object) -> None:
    assert list(monitoring.points(value)) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells what a process uses")
def test_a_busy_process_is_seen_in_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.replicas.process_runner.SAMPLE_SECONDS", 0.5)
    container = {"imageUri": "python:3.11", "command": ["python", "-c", BUSY]}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": container}
    with running(tmp_path, speed=1_000.0) as emulator:
        parent = "/v1/projects/vision/locations/us-central1"
        body = {"displayName": "busy", "jobSpec": {"workerPoolSpecs": [pool]}}
        job = emulator.call("POST", f"{parent}/customJobs", body)
        client = VertexClient(endpoint=emulator.url)
        points = _first_points(client, job["name"].rpartition("/")[2])

    assert max(share for _, share in points) > 0
    assert cpu_seconds(1 << 30) is None


def _first_points(client: VertexClient, number: str) -> list[monitoring.Point]:
    """Poll until the replica was sampled while it was busy."""
    until = datetime.now(UTC) + timedelta(seconds=40)
    while datetime.now(UTC) < until:
        now = datetime.now(UTC)
        points = client.used("vision", "CPU", job_id=number, since=now - timedelta(hours=1), until=now)
        if any(share > 0 for _, share in points):
            return list(points)
    raise AssertionError("no process was sampled")
