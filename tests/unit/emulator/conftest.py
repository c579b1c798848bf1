"""Fixtures for emulators, and a function to wait for real processes."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.running_emulator import Running, running

JOBS = "/v1/projects/demo/locations/us-central1/customJobs"
START = 1_800_000_000.0


def job_body(command: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """A custom job of one replica. more: `name`, `labels`, `args`, `env`, `image`, rest goes into jobSpec."""
    container: dict[str, Any] = {"imageUri": more.pop("image", "us-docker.pkg.dev/p/r/i")}
    container |= {"command": command} if command else {}
    container |= {key: more.pop(key) for key in ("args", "env") if key in more}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1, "containerSpec": container}
    body = {"displayName": more.pop("name", "a job"), "labels": more.pop("labels", {})}
    return body | {"jobSpec": {"workerPoolSpecs": [pool, *more.pop("pools", [])], **more}}


def python(code: str, **more: Any) -> dict[str, Any]:
    """A job that runs some Python."""
    return job_body(["python", "-c", code], **more)


def until(condition: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    """Wait for a condition of the real world; return its value."""
    end = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.02)


def stamp_of(text: str) -> datetime:
    """A time as the API and the log write it, to the microsecond."""
    return datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00")


def state(emulator: Running, job: dict[str, Any]) -> str:
    """The job's public state now."""
    return str(emulator.call("GET", "/v1/" + job["name"])["state"])


def wait_for(emulator: Running, job: dict[str, Any], *states: str) -> dict[str, Any]:
    """Wait until a job is in one of the states (short names); return its document."""
    wanted = {f"JOB_STATE_{name}" for name in states}

    def there() -> dict[str, Any] | None:
        document: dict[str, Any] = emulator.call("GET", "/v1/" + job["name"])
        return document if document["state"] in wanted else None

    return dict(until(there))


def finished(emulator: Running, job: dict[str, Any]) -> dict[str, Any]:
    """Wait until a job has ended and its error, if any, is public."""

    def done() -> Any:
        return emulator.truth(job["name"])["jobs"][0]["phase"] == "done"

    until(done)
    return dict(emulator.call("GET", "/v1/" + job["name"]))


def entries(emulator: Running, job: dict[str, Any], more: str = "") -> list[dict[str, Any]]:
    """All log entries of a job, oldest first."""
    job_id = job["name"].rpartition("/")[2]
    text = f'resource.type="ml_job" AND resource.labels.job_id="{job_id}"' + more
    body: dict[str, Any] = {"resourceNames": ["projects/demo"], "filter": text, "pageSize": 1000}
    found: list[dict[str, Any]] = []
    while True:
        page = emulator.call("POST", "/v2/entries:list", body)
        found += page.get("entries", [])
        if "nextPageToken" not in page:
            return found
        body["pageToken"] = page["nextPageToken"]


def log_texts(emulator: Running, job: dict[str, Any], task: str = "workerpool0-0") -> list[str]:
    """The text lines in the log of a replica, or of `service`. Objects that a program logs are left out."""
    found = entries(emulator, job, f' AND resource.labels.task_name="{task}"')
    return [text for text in map(text_of, found) if text is not None]


def text_of(entry: dict[str, Any]) -> str | None:
    """The text of a log entry, None for an object that a program logged."""
    if "textPayload" in entry:
        return str(entry["textPayload"])
    payload = entry["jsonPayload"]
    return str(payload["message"]) if "levelname" in payload else None


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Running]:
    """An emulator without processes whose clock the test moves."""
    with running(tmp_path / "state", scripted=True, start=START, is_waited_for=False) as emulator:
        yield emulator


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Running]:
    """An emulator that runs processes; the service's own times are a thousandth."""
    with running(tmp_path / "state") as emulator:
        yield emulator
