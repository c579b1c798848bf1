"""Tests of requesting jobs through the API: assessed as on the pages, once for each key, findings at their lines."""

import json
from decimal import Decimal
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User

from jobs import requests
from jobs.budgets import set_ceiling
from jobs.models import Job, Policy, Team
from tests.domain.test_concurrency import together
from tests.pages.conftest import MakeJob
from tests.support import samples
from tests.support.api import Caller, caller
from tests.support.clock import Clock

CONFIG = """\
# gcloud's own form
workerPoolSpecs:
- machineSpec:
    machineType: a2-highgpu-1g
    acceleratorType: NVIDIA_TESLA_A100
    acceleratorCount: 1
  replicaCount: 1
  containerSpec:
    imageUri: us-docker.pkg.dev/trainboard/samples/penguins:latest
scheduling:
  timeout: 300s
  strategy: SPOT
"""


@pytest.fixture
def api(owner: User) -> Caller:
    """The owner's program."""
    return caller(owner)


def cheap(**changes: Any) -> dict[str, Any]:
    """Return a request of a job that costs less than a dollar."""
    body = samples.body(**samples.limited(0.05, changes))
    return {"spec": body, "expected_seconds": 180}


class TestRequest:
    def test_makes_a_job_that_may_be_sent(self, team: Team, api: Caller) -> None:
        answer = api.post("/jobs", cheap(name="from-ci"))

        job = Job.objects.get()
        assert answer.status_code == 201
        assert answer["Location"] == f"/api/v1/jobs/{job.pk}"
        assert answer.json()["job"]["state"] == "approved"
        assert (job.owner.username, job.team, job.project, job.region) == ("owner", team, team.project, "us-central1")
        assert [finding["code"] for finding in answer.json()["findings"]] == ["region_assumed"]

    def test_may_have_a_cap_on_its_cost(self, team: Team, api: Caller) -> None:
        body = {"spec": samples.body(**samples.limited(100, {})), "expected_seconds": 360}

        assessed = api.post("/assessments", body | {"cap_usd": "3.50"}).json()
        answer = api.post("/jobs", body | {"cap_usd": "3.50"}, key="capped")

        assert assessed["outcome"] == "allow"
        assert Decimal(assessed["max_usd"]) <= Decimal("3.50"), "its timeout is set from the cap"
        assert (answer.json()["job"]["state"], answer.json()["job"]["cap_usd"]) == ("approved", "3.50")
        assert api.post("/jobs", body | {"cap_usd": "3.5"}, key="capped").json()["is_repeated"]
        long = api.post("/assessments", body | {"cap_usd": "0.50", "expected_seconds": 360_000}).json()
        assert long["outcome"] == "ask", "no timeout enforces a cap below what the job is expected to cost"
        assert api.post("/jobs", body, key="capped").status_code == 422, "another cap is another request"
        for absurd in ("0", "-1", "NaN", "1e20", "0.001"):
            assert api.post("/jobs", body | {"cap_usd": absurd}).status_code == 422

    def test_asks_for_an_approval_where_policy_does(self, team: Team, api: Caller) -> None:
        body = {"spec": samples.body(**samples.limited(100, {})), "expected_seconds": 360_000}

        assert api.post("/jobs", body).json()["job"]["state"] == "awaiting_approval"

    @pytest.mark.parametrize("text", [CONFIG, json.dumps({"displayName": "resnet", "jobSpec": yaml.safe_load(CONFIG)})])
    def test_reads_every_text_that_the_importer_reads(self, api: Caller, text: str) -> None:
        answer = api.post("/jobs", {"text": text, "name": "resnet", "expected_seconds": 60})

        assert answer.status_code == 201, answer.json()
        assert (Job.objects.get().strategy, Job.objects.get().display_name) == ("spot", "resnet")

    def test_takes_another_strategy(self, api: Caller) -> None:
        api.post("/jobs", cheap() | {"strategy": "standard"})

        assert Job.objects.get().strategy == "standard"

    def test_puts_findings_at_their_line_and_field(self, api: Caller) -> None:
        text = CONFIG.replace("acceleratorCount: 1", "acceleratorCount: 3")

        answer = api.post("/jobs", {"text": text, "expected_seconds": 60})

        assert answer.status_code == 422
        assert answer["Content-Type"] == "application/problem+json"
        problem = answer.json()
        (found,) = [each for each in problem["findings"] if each["severity"] == "error"]
        assert problem["type"] == "/api/#problem-refused"
        assert found["field"].startswith("jobSpec.workerPoolSpecs[0].machineSpec.")
        assert found["field"].rpartition(".")[2] in text.splitlines()[found["line"] - 1]
        assert not Job.objects.exists()

    @pytest.mark.parametrize("body", ["hello", "", "{", "a: [1"])
    def test_says_what_is_no_job(self, api: Caller, body: str) -> None:
        answer = api.post("/jobs", {"text": body, "expected_seconds": 60})

        assert answer.status_code == 422
        assert answer.json()["type"] == "/api/#problem-unreadable"
        assert answer.json()["findings"]

    def test_refuses_another_project(self, api: Caller) -> None:
        command = (
            "gcloud ai custom-jobs create --project=somewhere-else --region=us-central1 --display-name=x "
            "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/a/b"
        )
        answer = api.post("/jobs", {"text": command, "expected_seconds": 60})

        assert answer.status_code == 422
        assert "other_project" in {each["code"] for each in answer.json()["findings"]}

    def test_refuses_what_exceeds_a_ceiling_with_its_use_and_who_can_change_it(
        self, team: Team, admin: User, api: Caller, clock: Clock
    ) -> None:
        set_ceiling(team, "gpus", Decimal(1), by=admin, reason="agreed", now=clock.now)
        assert api.post("/jobs", cheap(name="first")).status_code == 201

        answer = api.post("/jobs", cheap(name="second"))

        (found,) = [each for each in answer.json()["findings"] if each["code"] == "over_ceiling"]
        assert answer.status_code == 422
        assert found["message"] == "The ceiling of the team vision for GPUs at once is 1. In use: 1. It needs 1."
        assert "Only a site admin can change a ceiling." in found["remedy"]
        assert Job.objects.count() == 1

    def test_refuses_what_policy_refuses(self, team: Team, api: Caller) -> None:
        Policy.objects.filter(team=team).update(refuse_over_usd=2)
        body = {"spec": samples.body(**samples.limited(100, {})), "expected_seconds": 360_000}

        answer = api.post("/jobs", body)

        assert answer.status_code == 422
        assert not Job.objects.exists()

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"text": CONFIG}, "spec"),
            ({"spec": None}, "spec"),
            ({"strategy": "teleport"}, "strategy"),
            ({"expected_seconds": 0}, "expected_seconds"),
            ({"expected_seconds": 10**12}, "expected_seconds"),
            ({"surprise": 1}, "surprise"),
            ({"files": {str(number): "" for number in range(60)}}, "files"),
        ],
    )
    def test_names_the_value_that_cannot_be_used(self, api: Caller, changes: dict[str, Any], field: str) -> None:
        answer = api.post("/jobs", cheap() | changes)

        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == [field]

    def test_a_team_that_is_not_ones_own_is_not_there(self, other_team: Team, api: Caller) -> None:
        theirs, nobodys = (api.post("/jobs", cheap() | {"team": name}) for name in ("speech", "nobody"))

        assert (theirs.status_code, nobodys.status_code) == (404, 404)
        assert theirs.json() == nobodys.json()

    def test_a_body_that_is_no_json_or_too_large_is_a_problem(self, api: Caller, settings: Any) -> None:
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
        send = api.client.post

        broken = send("/api/v1/jobs", "{", content_type="application/json", headers=api.headers())
        large = send("/api/v1/jobs", " " * 1_001, content_type="application/json", headers=api.headers())
        long = api.headers() | {"Content-Length": "9" * 5_000}  # more digits than int() accepts
        declared = send("/api/v1/jobs", "{}", content_type="application/json", headers=long)

        assert [(each.status_code, each["Content-Type"]) for each in (broken, large, declared)] == [
            (400, "application/problem+json"),
            (413, "application/problem+json"),
            (413, "application/problem+json"),
        ]


class TestIdempotency:
    def test_a_repeated_request_finds_the_first_job(self, api: Caller, clock: Clock) -> None:
        first = api.post("/jobs", cheap(), key="run-1")
        clock.forward(minutes=5)
        second = api.post("/jobs", cheap(), key="run-1")

        assert (first.status_code, second.status_code) == (201, 200)
        assert first.json()["job"]["id"] == second.json()["job"]["id"]
        assert (first.json()["is_repeated"], second.json()["is_repeated"]) == (False, True)
        assert Job.objects.count() == 1

    @pytest.mark.parametrize(
        "change", [{"expected_seconds": 181}, {"region": "europe-west4"}, {"strategy": "standard"}, cheap(name="other")]
    )
    def test_the_same_key_for_another_request_is_refused(self, api: Caller, change: dict[str, Any]) -> None:
        api.post("/jobs", cheap(), key="run-1")

        answer = api.post("/jobs", cheap() | change, key="run-1")

        assert answer.status_code == 422
        assert answer.json()["type"] == "/api/#problem-key-reused"
        assert Job.objects.count() == 1

    def test_finds_a_job_whose_strategy_an_approver_has_changed(
        self, api: Caller, approver: User, clock: Clock
    ) -> None:
        body = samples.body(**samples.limited(100, {"strategy": "STANDARD"}))
        asked = {"spec": body, "expected_seconds": 360_000}
        api.post("/jobs", asked, key="run-1")
        requests.approve_as(Job.objects.get(), "spot", by=approver, comment="", now=clock.now)

        again = api.post("/jobs", asked, key="run-1")

        assert (again.status_code, again.json()["is_repeated"]) == (200, True)
        assert again.json()["job"]["strategy"] == "spot"

    def test_a_key_is_a_persons_own(self, api: Caller, teammate: User) -> None:
        first, second = api.post("/jobs", cheap(), key="k"), caller(teammate).post("/jobs", cheap(), key="k")

        assert (first.status_code, second.status_code) == (201, 201)
        assert Job.objects.count() == 2

    def test_without_a_key_each_request_makes_a_job(self, api: Caller) -> None:
        api.post("/jobs", cheap())
        api.post("/jobs", cheap())

        assert Job.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_requests_at_once_with_one_key_make_one_job(api: Caller) -> None:
    answers = together(lambda _: Caller(api.token).post("/jobs", cheap(), key="at once"))

    assert len({answer.json()["job"]["id"] for answer in answers}) == 1
    assert Job.objects.count() == 1


class TestAssess:
    def test_says_what_each_strategy_costs_and_keeps_nothing(self, api: Caller) -> None:
        found = api.post("/assessments", cheap()).json()

        assert found["outcome"] == "allow"
        assert float(found["estimate"]["expected_usd"]) > 0
        ways = {each["strategy"]: each for each in found["alternatives"]}
        assert ways["spot"]["saving"] > 0
        assert ways["persistent"]["is_possible"] is False
        assert ways["persistent"]["findings"]
        assert not Job.objects.exists()

    def test_says_that_a_job_would_be_refused_or_asked_about(self, api: Caller) -> None:
        bad = cheap(machine={"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100"})
        dear = {"spec": samples.body(**samples.limited(100, {})), "expected_seconds": 360_000}

        assert api.post("/assessments", bad).json()["outcome"] == "refuse"
        assert api.post("/assessments", dear).json()["outcome"] == "ask"

    def test_needs_no_run_time(self, api: Caller) -> None:
        found = api.post("/assessments", {"text": CONFIG}).json()

        assert (found["outcome"], found["estimate"], found["alternatives"]) == (None, None, [])
        assert found["strategy"] == "spot"

    def test_a_placeholder_refuses_unless_it_is_confirmed(self, api: Caller) -> None:
        body = cheap(name="YOUR_JOB_NAME")

        assert api.post("/assessments", body).json()["outcome"] == "refuse"
        assert api.post("/assessments", body | {"confirm": ["YOUR_JOB_NAME"]}).json()["outcome"] == "allow"


class TestActions:
    def test_cancels_once(self, make_job: MakeJob, api: Caller) -> None:
        job = make_job("awaiting_approval")

        answer = api.post(f"/jobs/{job.pk}/cancel")
        again = api.post(f"/jobs/{job.pk}/cancel")

        assert (answer.status_code, answer.json()["state"]) == (202, "withdrawn")
        assert (again.status_code, again.json()["type"]) == (409, "/api/#problem-wrong-state")

    @pytest.mark.parametrize(("verb", "state"), [("approve", "approved"), ("reject", "rejected")])
    def test_decides_once(self, make_job: MakeJob, approver: User, verb: str, state: str) -> None:
        job = make_job("awaiting_approval")
        api = caller(approver)

        answer = api.post(f"/jobs/{job.pk}/{verb}", {"comment": "by API", "max_usd": str(job.max_usd)})

        assert (answer.status_code, answer.json()["state"]) == (200, state)
        assert Job.objects.get().approval.comment == "by API"
        assert api.post(f"/jobs/{job.pk}/{verb}", {"comment": "Again."}).status_code == 409

    @pytest.mark.parametrize("body", [{}, {"comment": ""}, {"comment": " "}])
    def test_a_rejection_without_a_reason_names_the_field(
        self, make_job: MakeJob, approver: User, body: dict[str, str]
    ) -> None:
        job = make_job("awaiting_approval")

        answer = caller(approver).post(f"/jobs/{job.pk}/reject", body)

        assert answer.status_code == 422
        assert [(error["place"], error["field"]) for error in answer.json()["errors"]] == [("body", "comment")]
        assert answer.json()["detail"].startswith("comment: ")
        assert Job.objects.get().state == "awaiting_approval"

    def test_does_not_decide_about_another_amount_or_ones_own_job(
        self, make_job: MakeJob, approver: User, owner: User
    ) -> None:
        job = make_job("awaiting_approval")
        own = make_job("awaiting_approval", by=approver)
        api = caller(approver)

        assert api.post(f"/jobs/{job.pk}/approve", {"max_usd": "1.00"}).status_code == 409
        assert api.post(f"/jobs/{job.pk}/approve", {"max_usd": "much"}).status_code == 422
        assert api.post(f"/jobs/{own.pk}/approve", {}).status_code == 403
        assert set(Job.objects.values_list("state", flat=True)) == {"awaiting_approval"}
