"""Tests of jobs in the API: lists with cursors and filters, one job, events by long polling, logs, hidden secrets."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from dashboard.api import long_polling
from jobs import transitions
from jobs.models import Job, LogLine, Team
from jobs.states import JobState
from tests.pages.conftest import MakeJob
from tests.support.api import Caller, caller
from tests.support.clock import Clock


@pytest.fixture
def api(owner: User) -> Caller:
    """The owner's program."""
    return caller(owner)


class TestList:
    def test_pages_hold_every_job_once_newest_first(self, make_job: MakeJob, api: Caller) -> None:
        made = [str(make_job("running", name=f"job-{number}").pk) for number in range(5)]
        found: list[str] = []
        cursor = ""

        for _ in range(3):
            page = api.get("/jobs", limit=2, cursor=cursor).json()
            found += [job["id"] for job in page["items"]]
            cursor = page["next_cursor"] or ""

        assert found == made[::-1]
        assert cursor == ""

    def test_a_search_reads_the_words_of_the_board(self, make_job: MakeJob, api: Caller) -> None:
        queued = make_job("queued", name="alpha")
        make_job("running", name="alpha two")
        assert [job["id"] for job in api.get("/jobs", q="state:queued gpu:a100").json()["items"]] == [str(queued.pk)]
        assert api.get("/jobs", q="gpu:h100").json()["items"] == []

    @pytest.mark.parametrize("word", ["state:", "cost>"])
    def test_a_search_refuses_a_word_without_its_value(self, make_job: MakeJob, api: Caller, word: str) -> None:
        """To pass over it would answer with every job, and a program that cancels what it found would hit them all."""
        make_job("running", name="alpha")
        answer = api.get("/jobs", q=f"alpha {word}")
        assert answer.status_code == 422
        assert repr(word) in answer.json()["detail"]

    @pytest.mark.parametrize(
        ("filters", "nearest"),
        [
            ({"label": "prio=1"}, "state"),
            ({"foo": "bar"}, "project"),
            ({"State": "running"}, "state"),
            ({"teams": "vision"}, "team"),
            ({"team": "vison"}, "vision"),
            ({"team": ["vision", "VISION"]}, "vision"),
            ({"state": "runing"}, "running"),
            ({"state": "=queud"}, "=queued"),
            ({"strategy": "spott"}, "spot"),
            ({"owner": "ovner"}, "owner"),
            ({"project": "vision-reserch"}, "vision-research"),
            ({"region": "us-central"}, "us-central1"),
        ],
    )
    def test_an_unknown_name_is_refused_and_the_nearest_named(
        self, make_job: MakeJob, api: Caller, filters: dict[str, Any], nearest: str
    ) -> None:
        make_job("running")

        answer = api.get("/jobs", **filters)

        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["place"], error["field"]) == (422, "query", next(iter(filters)))
        assert error["message"].startswith("There is no ")
        if nearest != "project":
            assert error["message"].endswith(f"the nearest is {nearest!r}.")

    def test_what_a_job_was_in_is_known(self, make_job: MakeJob, api: Caller) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(project="project-of-before", region="moon-north1")

        found = api.get("/jobs", project="project-of-before", region="moon-north1").json()

        assert [each["id"] for each in found["items"]] == [str(job.pk)]

    def test_teams_and_people_elsewhere_are_not_named(self, make_job: MakeJob, stranger: User) -> None:
        make_job("running")
        theirs = caller(stranger)

        for filters in ({"team": "vision"}, {"owner": "owner"}):
            words = theirs.get("/jobs", **filters).json()["detail"].partition("the nearest")[2]
            assert not any(name in words for name in ("vision", "owner"))

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({"state": "running"}, {"bert"}),
            ({"state": "=awaiting_approval"}, {"t5"}),
            ({"state": ["running", "to-approve"]}, {"bert", "t5"}),
            ({"q": "ber"}, {"bert"}),
            ({"owner": "OWNER"}, {"bert", "t5"}),
            ({"team": "vision"}, {"bert", "t5"}),
            ({"strategy": "standard"}, set()),
            ({"since": "2026-03-02", "until": "2026-03-02"}, {"bert", "t5"}),
            ({"until": "2026-03-01"}, set()),
        ],
    )
    def test_filters_as_the_history_does(
        self, make_job: MakeJob, api: Caller, filters: dict[str, Any], expected: set[str]
    ) -> None:
        make_job("running", name="bert")
        make_job("awaiting_approval", name="t5")

        assert {job["name"] for job in api.get("/jobs", **filters).json()["items"]} == expected

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ({"state": "flying"}, "state"),
            ({"since": "yesterday"}, "since"),
            ({"since": "2026-03-02", "until": "2026-03-01"}, "until"),
            ({"cursor": "nonsense"}, "cursor"),
            ({"cursor": "0001-01-01T00:00:00+00:00~00000000-0000-4000-8000-000000000000"}, "cursor"),
            ({"limit": "0"}, "limit"),
            ({"q": "\x00"}, "q"),
        ],
    )
    def test_names_the_value_that_cannot_be_used(self, api: Caller, query: dict[str, str], field: str) -> None:
        answer = api.get("/jobs", **query)

        assert answer.status_code == 422
        assert answer["Content-Type"] == "application/problem+json"
        assert [error["field"] for error in answer.json()["errors"]] == [field]

    def test_a_stranger_sees_none(self, make_job: MakeJob, stranger: User) -> None:
        make_job("running")

        assert caller(stranger).get("/jobs").json() == {"items": [], "next_cursor": None}


class TestJob:
    def test_says_what_the_page_says(self, make_job: MakeJob, api: Caller, clock: Clock) -> None:
        job = make_job("running", name="bert")
        clock.forward(hours=1)

        found = api.get(f"/jobs/{job.pk}").json()

        assert (found["name"], found["state"], found["owner"], found["team"]) == ("bert", "running", "owner", "vision")
        assert found["ran_seconds"] == 3600
        assert found["cost_usd"] == f"{Job.objects.get().hourly_usd:.6f}"
        assert found["estimate"]["lines"]
        assert [attempt["number"] for attempt in found["attempts"]] == [1]
        assert found["diagnosis"] is None
        assert found["url"].endswith(f"/jobs/{job.pk}/")

    def test_explains_a_failure(self, make_job: MakeJob, api: Caller) -> None:
        error = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different one."}
        job = make_job("failed", error=error)

        found = api.get(f"/jobs/{job.pk}").json()

        assert found["outcome"] == "failed"
        assert found["diagnosis"]["cause"]
        assert found["diagnosis"]["remedy"]

    def test_hides_secrets_of_others(self, make_job: MakeJob, api: Caller, teammate: User) -> None:
        machine = {"env": [{"name": "WANDB_API_KEY", "value": "0123456789abcdef0123456789abcdef01234567"}]}
        job = make_job("running")
        body = Job.objects.get(pk=job.pk).spec
        body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"] |= machine
        Job.objects.filter(pk=job.pk).update(spec=body)

        assert "0123456789abcdef" in api.get(f"/jobs/{job.pk}").content.decode()
        assert "0123456789abcdef" not in caller(teammate).get(f"/jobs/{job.pk}").content.decode()

    @pytest.mark.parametrize("path", ["", "/events", "/logs"])
    def test_is_nothing_to_a_stranger_and_what_is_not_there_is_nothing_to_anybody(
        self, make_job: MakeJob, stranger: User, api: Caller, path: str
    ) -> None:
        hidden = caller(stranger).get(f"/jobs/{make_job('running').pk}{path}")
        missing = api.get(f"/jobs/{uuid4()}{path}")

        assert (hidden.status_code, missing.status_code) == (404, 404)
        assert hidden.json()["detail"] == missing.json()["detail"]


class TestEvents:
    def test_come_in_the_order_in_which_they_were_recorded(self, make_job: MakeJob, api: Caller) -> None:
        job = make_job("running")
        states: list[str] = []
        after, has_more = 0, True

        while has_more:
            page = api.get(f"/jobs/{job.pk}/events", after=after, limit=2).json()
            states += [event["to_state"] for event in page["items"] if event["kind"] == "state"]
            after, has_more = page["next_after"], page["has_more"]

        assert states == ["approved", "submitting", "queued", "pending", "running"]
        assert api.get(f"/jobs/{job.pk}/events", after=after).json()["items"] == []

    def test_a_waiting_request_is_answered_when_one_comes(
        self, make_job: MakeJob, api: Caller, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = make_job("running")
        after = api.get(f"/jobs/{job.pk}/events").json()["next_after"]
        looks: list[int] = []

        def look_again(_seconds: float) -> None:
            looks.append(1)
            if len(looks) == 2:
                transitions.transition(job, JobState.SUCCEEDED, now=clock.now, message="It is done.")

        monkeypatch.setattr(long_polling._never, "wait", look_again)
        page = api.get(f"/jobs/{job.pk}/events", after=after, wait=20).json()

        assert len(looks) == 2
        assert [event["message"] for event in page["items"]] == ["It is done."]
        assert page["is_finished"] is True

    def test_only_one_request_of_a_process_waits(
        self, make_job: MakeJob, api: Caller, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = make_job("running")
        after = api.get(f"/jobs/{job.pk}/events").json()["next_after"]

        with long_polling._free:
            page = api.get(f"/jobs/{job.pk}/events", after=after, wait=20).json()

        assert page["items"] == []
        assert page["poll_after_seconds"] > 2


class TestLogs:
    @pytest.fixture
    def job(self, make_job: MakeJob, clock: Clock) -> Job:
        job = make_job("running")
        for number in range(5):
            LogLine.objects.create(
                job_id=job.pk,
                timestamp=clock.forward(seconds=1),
                insert_id=str(number),
                replica="workerpool0-0",
                severity="ERROR" if number == 3 else "INFO",
                message=f"line {number}",
            )
        return job

    def test_pages_hold_every_line_once(self, job: Job, api: Caller) -> None:
        first = api.get(f"/jobs/{job.pk}/logs", limit=3).json()
        rest = api.get(f"/jobs/{job.pk}/logs", after=first["next_after"]).json()

        assert [line["message"] for line in first["items"] + rest["items"]] == [f"line {n}" for n in range(5)]
        assert (first["has_more"], rest["has_more"], rest["is_complete"]) == (True, False, False)

    def test_a_line_that_came_late_is_not_missed(self, job: Job, api: Caller) -> None:
        after = api.get(f"/jobs/{job.pk}/logs").json()["next_after"]
        old = LogLine.objects.earliest("timestamp")
        late = LogLine(job_id=job.pk, timestamp=old.timestamp, insert_id="late", replica="r", message="late")
        late.save(force_insert=True)

        assert [line["message"] for line in api.get(f"/jobs/{job.pk}/logs", after=after).json()["items"]] == ["late"]

    def test_narrows_by_moment_level_and_words(self, job: Job, api: Caller) -> None:
        since = LogLine.objects.order_by("timestamp")[2].timestamp.isoformat()

        def messages(**query: str) -> list[str]:
            return [line["message"] for line in api.get(f"/jobs/{job.pk}/logs", **query).json()["items"]]

        assert messages(since=since) == ["line 2", "line 3", "line 4"]
        assert messages(level="WARNING") == ["line 3"]
        assert messages(q="LINE 1") == ["line 1"]
        assert api.get(f"/jobs/{job.pk}/logs", since="2026-03-02T09:00:00").status_code == 422
        assert messages(since="2026-01-01T09:00:00+19:00"), "PostgreSQL itself refuses such an offset"


class TestFacts:
    def test_tells_who_calls_and_what_they_may(self, api: Caller, approver: User, team: Team) -> None:
        assert api.get("/me").json()["name"] == "owner"
        (found,) = api.get("/teams").json()
        assert found | {"may": set(found["may"])} == {
            "name": "vision",
            "project": "vision-research",
            "projects": ["vision-research"],
            "default_region": "us-central1",
            "may": {"see", "request", "cancel", "decide"},
        }

    def test_lists_strategies_machines_and_prices(self, api: Caller) -> None:
        assert "spot" in {each["key"] for each in api.get("/strategies").json()}
        machines = {each["machine_type"]: each for each in api.get("/machines").json()}
        assert machines["a2-highgpu-1g"]["accelerators"] == {"NVIDIA_TESLA_A100": [1]}
        first = api.get("/prices", region="us-central1", limit=5).json()
        second = api.get("/prices", region="us-central1", limit=5, cursor=first["next_cursor"]).json()
        assert len(first["items"]) == len(second["items"]) == 5
        assert all(price["source"] for price in first["items"])
        assert api.get("/prices", region="atlantis").status_code == 422
