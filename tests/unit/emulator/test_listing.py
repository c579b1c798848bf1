"""Tests of lists: filters, pages, tokens, masks; and of delete with its operation."""

import json
import urllib.error
import urllib.parse
from typing import Any

import pytest

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body


def listed(emulator: Running, **query: Any) -> dict[str, Any]:
    """List custom jobs."""
    return dict(emulator.call("GET", f"{JOBS}?{urllib.parse.urlencode(query)}"))


def names(emulator: Running, text: str) -> list[str]:
    """The display names that a filter finds, oldest first."""
    return [job["displayName"] for job in reversed(listed(emulator, filter=text).get("customJobs", []))]


def refusal(emulator: Running, **query: Any) -> dict[str, Any]:
    """The error of a list call that is refused."""
    with pytest.raises(urllib.error.HTTPError) as answer:
        listed(emulator, **query)
    with answer.value as reply:
        error: dict[str, Any] = json.loads(reply.read())["error"]
    assert answer.value.code == 400
    return error


@pytest.fixture
def jobs(scripted: Running) -> Running:
    """Four jobs: alpha (team red), beta (team blue), gamma, alpha-2 (team red, 100 s later)."""
    for name, labels in (("alpha", {"team": "red"}), ("beta", {"team": "blue"}), ("gamma", {})):
        scripted.call("POST", JOBS, job_body(name=name, labels=labels))
    scripted.advance(100)
    scripted.call("POST", JOBS, job_body(name="alpha-2", labels={"team": "red", "trainboard_job": "1a-2b"}))
    scripted.advance(1)
    return scripted


class TestFilters:
    """The documented filter fields and operators."""

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("", ["alpha", "beta", "gamma", "alpha-2"]),
            ('displayName="alpha"', ["alpha"]),
            ('display_name="alpha"', ["alpha"]),
            ('display_name!="alpha"', ["beta", "gamma", "alpha-2"]),
            ('displayName:"alph*"', ["alpha", "alpha-2"]),
            ('displayName="alph*"', []),
            ('state="JOB_STATE_QUEUED"', ["alpha-2"]),
            ('state!="JOB_STATE_QUEUED"', ["alpha", "beta", "gamma"]),
            ("labels.team=red", ["alpha", "alpha-2"]),
            ("labels.team:*", ["alpha", "beta", "alpha-2"]),
            ("NOT labels.team:*", ["gamma"]),
            ('labels.trainboard_job="1a-2b"', ["alpha-2"]),
            ('createTime>"2027-01-15T08:00:50Z"', ["alpha-2"]),
            ('create_time<="2027-01-15T10:00:00+02:00"', ["alpha", "beta", "gamma"]),
            ('labels.team=red AND state="JOB_STATE_PENDING"', ["alpha"]),
            ("labels.team=red OR labels.team=blue", ["alpha", "beta", "alpha-2"]),
            ('(labels.team=red AND displayName="alpha") OR displayName="gamma"', ["alpha", "gamma"]),
        ],
    )
    def test_finds(self, jobs: Running, text: str, found: list[str]) -> None:
        assert names(jobs, text) == found

    @pytest.mark.parametrize(
        "text",
        [
            'updateTime>"2026-01-01T00:00:00Z"',
            'state="JOB_STATE_HAPPY"',
            'state:"JOB*"',
            'displayName>"a"',
            'createTime>"yesterday"',
            "labels.team>red",
            "alpha",
            "displayName=",
        ],
    )
    def test_refuses(self, jobs: Running, text: str) -> None:
        assert "Invalid filter" in refusal(jobs, filter=text)["message"]


class TestPages:
    """Pages and their tokens."""

    def test_lead_through_everything_once_newest_first(self, jobs: Running) -> None:
        seen, token = [], ""
        while True:
            page = listed(jobs, pageSize=3, pageToken=token)
            seen += [job["displayName"] for job in page["customJobs"]]
            token = page.get("nextPageToken", "")
            jobs.call("POST", JOBS, job_body(name="made meanwhile"))
            if not token:
                break

        assert seen == ["alpha-2", "gamma", "beta", "alpha"]

    def test_a_token_belongs_to_its_request(self, jobs: Running) -> None:
        token = listed(jobs, pageSize=1)["nextPageToken"]

        assert refusal(jobs, pageSize=1, pageToken=token, filter="labels.team=red")["status"] == "INVALID_ARGUMENT"
        refusal(jobs, pageToken="AAAA")

    def test_nothing_found_is_an_empty_answer(self, jobs: Running) -> None:
        assert listed(jobs, filter="labels.team=green") == {}

    def test_a_mask_cuts_the_jobs(self, jobs: Running) -> None:
        page = listed(jobs, readMask="name,state,job_spec.scheduling")

        assert all(set(job) == {"name", "state"} for job in page["customJobs"])

    def test_other_places_are_other_lists(self, jobs: Running) -> None:
        assert jobs.call("GET", JOBS.replace("us-central1", "europe-west4")) == {}
        assert jobs.call("GET", JOBS.replace("demo", "other")) == {}

    def test_unknown_parameters_are_refused(self, jobs: Running) -> None:
        assert 'Unknown name "orderBy"' in refusal(jobs, orderBy="createTime")["message"]

    def test_enums_come_as_numbers_on_request(self, jobs: Running) -> None:
        page = listed(jobs, **{"$alt": "json;enum-encoding=int"})

        assert [job["state"] for job in page["customJobs"]] == [1, 2, 2, 2]


class TestDelete:
    """Delete is an operation."""

    def test_removes_a_finished_job_and_leaves_a_finished_operation(self, jobs: Running) -> None:
        jobs.advance(5_000)
        job = listed(jobs)["customJobs"][0]
        operation = jobs.call("DELETE", "/v1/" + job["name"])

        assert operation["done"] is True
        assert operation["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
        for prefix in ("/v1/", "/ui/"):
            assert jobs.call("GET", prefix + operation["name"]) == operation
        assert jobs.call("POST", f"/v1/{operation['name']}:wait?timeout=5s") == operation
        assert jobs.call("GET", JOBS.replace("customJobs", "operations"))["operations"] == [operation]
        with pytest.raises(urllib.error.HTTPError) as gone:
            jobs.call("GET", "/v1/" + job["name"])
        with gone.value:
            assert gone.value.code == 404
        assert jobs.call("DELETE", "/v1/" + operation["name"]) == {}

    def test_refuses_a_job_that_runs(self, jobs: Running) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            jobs.call("DELETE", "/v1/" + listed(jobs)["customJobs"][0]["name"])

        with refused.value:
            assert b"FAILED_PRECONDITION" in refused.value.read()
