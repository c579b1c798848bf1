"""Tests of which `startTime` shows that machines ran. The settled and provisional ones are recorded."""

from datetime import datetime
from typing import Any

import pytest

from jobs.vertex import RemoteJob
from tests.support.replayed import recorded_rows

CREATED = "2026-02-18T01:23:27.567461Z"
NAMES = {
    "CustomJob": "projects/1/locations/us-central1/customJobs/7",
    "HyperparameterTuningJob": "projects/1/locations/us-central1/hyperparameterTuningJobs/7",
    "TrainingPipeline": "projects/1/locations/us-central1/trainingPipelines/7",
}


def settled(start: Any, *, kind: str = "CustomJob", created: Any = CREATED, ended: Any = None) -> datetime | None:
    times = {"createTime": created, "startTime": start, "endTime": ended}
    raw = {name: value for name, value in times.items() if value is not None}
    return RemoteJob(NAMES[kind], "JOB_STATE_RUNNING", raw).settled_start


@pytest.mark.parametrize("row", [row for row in recorded_rows() if row["category"] == "resource"], ids=str)
def test_of_recorded_jobs_those_that_ran_are_settled(row: dict[str, Any]) -> None:
    found = settled(row.get("startTime"), kind=row["kind"], created=row["createTime"], ended=row.get("endTime"))

    ran = row["kind"] == "CustomJob" and "." not in row.get("startTime", ".")
    assert found == (datetime.fromisoformat(row["startTime"]) if ran else None)


def test_a_whole_second_after_the_creation_is() -> None:
    assert settled("2026-02-18T01:26:05Z") == datetime.fromisoformat("2026-02-18T01:26:05Z")
    assert settled("2026-02-18T01:23:29Z") is not None
    assert settled("2026-02-18T01:26:05Z", ended="2026-02-18T01:26:05Z") is not None


@pytest.mark.parametrize(
    "start",
    [
        "2026-02-18T01:23:27.714674Z",
        "2026-02-18T01:26:05.991045Z",  # of a job in PENDING, in a sample of Google's documentation
        "2026-02-18T01:23:28Z",  # less than a second after the creation
        "2026-02-18T01:23:20Z",
        "2026-02-18",
        "never",
        7,
        None,
    ],
)
def test_another_time_is_not(start: Any) -> None:
    assert settled(start) is None


def test_a_start_after_the_end_or_of_an_unknown_creation_is_not() -> None:
    assert settled("2026-02-18T01:26:05Z", ended="2026-02-18T01:26:04Z") is None
    assert settled("2026-02-18T01:26:05Z", created=None) is None


@pytest.mark.parametrize("kind", ["HyperparameterTuningJob", "TrainingPipeline"])
def test_other_kinds_have_none(kind: str) -> None:
    assert settled("2026-02-18T01:26:05Z", kind=kind) is None
