"""Tests of entries:list: the query language, order and pages."""

import json
import re
import urllib.error
from typing import Any

import pytest

from emulator.replicas.output import LineSplitter
from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, entries, job_body


@pytest.fixture
def job(scripted: Running) -> dict[str, Any]:
    """A job that has ended, and another beside it."""
    made = scripted.call(
        "POST", JOBS, job_body(labels={"emulator_script": "fails"}, scheduling={"disableRetries": True})
    )
    scripted.call("POST", JOBS, job_body())
    scripted.advance(5_000)
    return dict(made)


def ask(emulator: Running, **body: Any) -> dict[str, Any]:
    """List entries of the demo project."""
    return dict(emulator.call("POST", "/v2/entries:list", {"resourceNames": ["projects/demo"], **body}))


class TestEntries:
    """The shape of an entry."""

    def test_names_job_and_replica(self, scripted: Running, job: dict[str, Any]) -> None:
        first = entries(scripted, job)[0]
        job_id = job["name"].rpartition("/")[2]

        assert first["resource"] == {
            "type": "ml_job",
            "labels": {"job_id": job_id, "project_id": "demo", "task_name": "service"},
        }
        assert first["textPayload"] == "Waiting for job to be provisioned."
        assert first["severity"] == "INFO"
        assert {"insertId", "timestamp", "receiveTimestamp", "logName"} <= set(first)

    def test_of_a_replica_has_the_recorded_keys(self, scripted: Running, job: dict[str, Any]) -> None:
        entry = entries(scripted, job, ' AND resource.labels.task_name="workerpool0-0"')[0]

        assert set(entry["jsonPayload"]) == {"message", "levelname"}
        assert entry["severity"] == entry["jsonPayload"]["levelname"] == "INFO"
        assert entry["logName"] == "projects/demo/logs/workerpool0-0"
        assert re.fullmatch(r"[0-9a-z]{13}", entry["insertId"])
        labels = entry["labels"]
        assert set(labels) == {
            *(f"compute.googleapis.com/{name}" for name in ("resource_id", "resource_name", "zone")),
            *(f"ml.googleapis.com/{name}" for name in ("trial_type", "trial_id", "tpu_worker_id", "job_id/log_area")),
        }
        assert labels["ml.googleapis.com/trial_id"] == labels["ml.googleapis.com/trial_type"] == ""
        assert labels["compute.googleapis.com/resource_id"].isdecimal()

    def test_of_the_service_has_an_endpoint(self, scripted: Running, job: dict[str, Any]) -> None:
        assert set(entries(scripted, job)[0]["labels"]) == {"ml.googleapis.com/endpoint"}

    def test_outlive_the_job(self, scripted: Running, job: dict[str, Any]) -> None:
        before = entries(scripted, job)
        scripted.call("DELETE", "/v1/" + job["name"])

        assert entries(scripted, job) == before


class TestQueries:
    """What a filter finds."""

    @pytest.mark.parametrize(
        ("more", "count"),
        [
            ("", 11),
            (' AND resource.labels.task_name="workerpool0-0"', 2),
            (" AND severity>=ERROR", 2),
            (" AND severity=ERROR AND NOT resource.labels.task_name=service", 1),
            (' AND textPayload:"JOB IS"', 2),
            (' AND textPayload="job failed."', 1),
            (' AND textPayload=~"^Job is (running|preparing)"', 2),
            (" AND provisioning", 1),
            (' AND labels."ml.googleapis.com/job_id/log_area"="root"', 2),
            (' AND labels."ml.googleapis.com/endpoint":*', 9),
            (' AND timestamp>="2027-01-15T08:02:50Z"', 6),
            (' AND timestamp>="2027-01-15T08:02:50+0000"', 6),
            (' AND timestamp<"2027-01-15T08:02:50Z"', 5),
            (" AND jsonPayload.message:*", 2),
            (" AND NOT jsonPayload.message:* AND textPayload:*", 9),
        ],
    )
    def test_find(self, scripted: Running, job: dict[str, Any], more: str, count: int) -> None:
        assert len(entries(scripted, job, more)) == count

    def test_several_jobs_at_once(self, scripted: Running, job: dict[str, Any]) -> None:
        ids = [one["id"] for one in scripted.truth()["jobs"]]
        text = " OR ".join(f'resource.labels.job_id="{one}"' for one in ids)
        found = ask(scripted, filter=f'({text}) AND timestamp>="2027-01-01T00:00:00Z"', pageSize=1000)["entries"]

        assert {entry["resource"]["labels"]["job_id"] for entry in found} == set(ids)

    def test_pages_lead_through_everything_in_both_orders(self, scripted: Running, job: dict[str, Any]) -> None:
        everything = ask(scripted, pageSize=1000)["entries"]
        for order in ("timestamp asc", "timestamp desc"):
            seen, token = [], ""
            while True:
                page = ask(scripted, orderBy=order, pageSize=4, pageToken=token)
                seen += page["entries"]
                token = page.get("nextPageToken", "")
                if not token:
                    break
            assert seen == (everything if order == "timestamp asc" else everything[::-1])

    def test_other_projects_see_nothing(self, scripted: Running, job: dict[str, Any]) -> None:
        assert ask(scripted, resourceNames=["projects/other"]) == {}

    def test_the_project_number_will_do(self, scripted: Running, job: dict[str, Any]) -> None:
        assert ask(scripted, resourceNames=["/".join(job["name"].split("/")[:2])])["entries"]

    @pytest.mark.parametrize(
        "body",
        [
            {"pageSize": 1001},
            {"orderBy": "severity"},
            {"nonsense": 1},
            {"filter": "severity>=LOUD"},
            {"filter": 'timestamp>"soon"'},
            {"filter": 'textPayload=~"("'},
            {"filter": "x" * 20_001},
            {"resourceNames": []},
            {"resourceNames": ["folders/1"]},
            {"pageToken": "nonsense"},
        ],
    )
    def test_nonsense_is_refused(self, scripted: Running, body: dict[str, Any]) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(scripted, **body)

        with refused.value as reply:
            assert json.loads(reply.read())["error"]["status"] == "INVALID_ARGUMENT"


def test_a_line_appears_when_its_newline_is_written() -> None:
    """As container runtimes collect output; a progress bar that only returns the carriage appears when it ends."""
    splitter = LineSplitter()

    assert list(splitter.feed(b"\r 1/10\r 2/10")) == []
    assert list(splitter.feed(b"\r 10/10\nstep 5\r\n\r 1/3")) == ["\r 1/10\r 2/10\r 10/10", "step 5"]
    assert list(splitter.end()) == ["\r 1/3"]
