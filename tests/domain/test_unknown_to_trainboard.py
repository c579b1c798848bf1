"""Tests that nothing that Vertex AI may offer is blocked: what is not known is confirmed, approved and sent.

The emulator knows more than the site: machines, an accelerator, a region, enum values and fields. Each way of asking
for a job ends on its wire with exactly what was written.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from emulator.capacity.catalogue import extend
from jobs import exporter, importer, observation, requests, spec, steps
from jobs.fallback import Plan, Step
from jobs.models import Approval, FallbackAttempt, Job, Team
from jobs.requests import fallbacks
from jobs.requests.context import submission_of
from jobs.strategies import check
from tests.domain.conftest import Cloud
from tests.domain.test_adopt import found, make
from tests.domain.test_jobspec import Ran
from tests.pages.conftest import SignIn, fields_of
from tests.support.api import caller
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
REGION = "europe-west20"
CATALOGUE: dict[str, Any] = {
    "machines": {"n5-standard-8": {"series": "n5", "vcpus": 8, "memoryGib": 32, "accelerators": {"NVIDIA_B300": [2]}}},
    "regions": [REGION],
    "messages": {
        "CustomJobSpec": {"logFormat": "Struct"},
        "MachineSpec": {"memoryMode": "string"},
        "WorkerPoolSpec": {"startOrder": "int32"},
    },
    "enums": {"AcceleratorType": {"NVIDIA_B300": 90}, "Scheduling.Strategy": {"CALENDAR": 7}},
}
JOB_SPEC: dict[str, Any] = {
    "workerPoolSpecs": [
        {
            "machineSpec": {
                "machineType": "n5-standard-8",
                "acceleratorType": "NVIDIA_B300",
                "acceleratorCount": 2,
                "memoryMode": "FAST",
            },
            "replicaCount": "1",
            "startOrder": 3,
            "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/i:1", "args": ["--epochs", "3"]},
            "diskSpec": {"bootDiskType": "hyperdisk-ml", "bootDiskSizeGb": 200},
        }
    ],
    "scheduling": {"timeout": "86400s", "strategy": "CALENDAR"},
    "logFormat": {"kind": "json", "levels": ["info", None, 1.5, {"deep": {"er": False}}], "empty": {}},
}
BODY = {"displayName": "newer", "jobSpec": JOB_SPEC}
CONFIRMED = (
    "region=europe-west20",
    "jobSpec.workerPoolSpecs[].machineSpec.machineType=n5-standard-8",
    "jobSpec.workerPoolSpecs[].machineSpec.acceleratorType=NVIDIA_B300",
    "jobSpec.workerPoolSpecs[].diskSpec.bootDiskType=hyperdisk-ml",
    "jobSpec.scheduling.strategy=CALENDAR",
)
FIELDS = ("machineSpec.memoryMode", "startOrder", "logFormat")


@pytest.fixture
def newer(cloud: Cloud) -> Iterator[Cloud]:
    """A Vertex AI that offers more than Trainboard knows."""
    undo = extend(CATALOGUE)
    yield cloud
    undo()


def confirmations(body: dict[str, Any] = BODY, region: str = REGION) -> list[str]:
    """Return everything that the rules let a person confirm about a job."""
    job, _ = spec.read("custom_job", body)
    asked = spec.Submission("custom_job", "vision-research", region, job, confirmed=frozenset())
    return list(dict.fromkeys(finding.confirm for finding in check(asked) if finding.confirm))


def is_sent(job: Job, approver: User, cloud: Cloud) -> dict[str, Any]:
    """Approve a job that waits for it, send it, and return what the emulator received."""
    assert job.state == "awaiting_approval"
    assert requests.approve(job, by=approver, comment="", now=cloud.now)
    steps.advance(job.pk, clock=cloud.clock)
    job.refresh_from_db()
    assert job.remote_name, job.last_error
    (document,) = [each for each in cloud.jobs() if each["name"] == job.remote_name]
    assert f"/locations/{job.region}/" in document["name"]
    return dict(document["jobSpec"])


def asked_about(job: Job) -> dict[str, str]:
    """Return the findings that approvers see, `{code: message}`."""
    return {finding["code"]: finding["message"] for finding in Approval.objects.get(job=job).findings}


class TestApi:
    def request(self, owner: User, **more: Any) -> Any:
        body = {"spec": BODY, "region": REGION, "expected_seconds": 3600} | more
        return caller(owner).post("/jobs", body, key=json.dumps(more)[:200])

    def test_names_what_can_be_confirmed_and_refuses_it_until_then(self, owner: User, newer: Cloud) -> None:
        answer = self.request(owner)

        errors = [each for each in answer.json()["findings"] if each["severity"] == "error"]
        assert answer.status_code == 422
        assert all(each["confirm"] for each in errors), errors
        assert not Job.objects.exists()

    def test_sends_what_was_written(self, owner: User, approver: User, newer: Cloud) -> None:
        answer = self.request(owner, confirm=confirmations())

        assert answer.status_code == 201, answer.json()
        job = Job.objects.get()
        assert is_sent(job, approver, newer) == JOB_SPEC
        assert job.spec == BODY
        assert job.estimate["usd_per_hour"] is None
        assert {"machine_type_trains", "unknown_field", "unknown_value", "region_trains"} <= asked_about(job).keys()

    def test_assesses_it(self, owner: User) -> None:
        body = {"spec": BODY, "region": REGION, "expected_seconds": 3600, "confirm": confirmations()}
        found = caller(owner).post("/assessments", body).json()

        assert found["outcome"] == "ask"
        assert found["estimate"]["most_usd"] is None
        assert any("not known" in note for note in found["estimate"]["notes"])

    @pytest.mark.parametrize("missing", range(8))
    def test_needs_each_confirmation(self, owner: User, missing: int) -> None:
        every = confirmations()
        assert len(every) == len(CONFIRMED) + len(FIELDS)

        answer = self.request(owner, confirm=[each for at, each in enumerate(every) if at != missing])

        assert answer.status_code == 422
        assert every[missing] in {each["confirm"] for each in answer.json()["findings"] if each["severity"] == "error"}

    def test_stays_out_of_the_sight_of_strangers(self, owner: User, stranger: User, newer: Cloud) -> None:
        self.request(owner, confirm=confirmations())

        assert caller(stranger).get(f"/jobs/{Job.objects.get().pk}").status_code == 404


class TestForm:
    @pytest.fixture
    def form(self, owner: User, signed_in: SignIn) -> dict[str, str]:
        """The form filled from the text of the request."""
        client = signed_in(owner)
        fields = fields_of(client.get("/jobs/new/?example=1").content.decode())
        typed = {"request_text": json.dumps(BODY), "region": REGION, "do": "read"}
        return fields_of(client.post("/jobs/new/", fields | typed).content.decode())

    def test_without_confirmation_asks_for_it_and_loses_nothing(
        self, owner: User, signed_in: SignIn, form: dict[str, str]
    ) -> None:
        answer = signed_in(owner).post("/jobs/new/", form | {"do": "submit"})

        assert answer.status_code == 422
        assert "not known to Trainboard as of 22 August 2026; Vertex AI decides." in answer.content.decode()
        assert json.loads(fields_of(answer.content.decode())["request_text"]) == BODY
        assert not Job.objects.exists()

    def test_with_confirmation_sends_what_was_written(
        self, owner: User, approver: User, signed_in: SignIn, newer: Cloud, form: dict[str, str]
    ) -> None:
        client = signed_in(owner)
        page = client.post("/jobs/new/", form | {"do": "check"}).content.decode()
        ticks = {name: "on" for name in page.split('"') if name.startswith("confirm-")}
        assert len(ticks) == len(CONFIRMED) + len(FIELDS)

        client.post("/jobs/new/", fields_of(page) | ticks | {"do": "submit"})

        assert is_sent(Job.objects.get(), approver, newer) == JOB_SPEC

    def test_confirmation_of_one_value_is_not_one_of_another(
        self, owner: User, signed_in: SignIn, form: dict[str, str]
    ) -> None:
        client = signed_in(owner)
        page = client.post("/jobs/new/", form | {"do": "check"}).content.decode()
        ticks = {name: "on" for name in page.split('"') if name.startswith("confirm-")}

        answer = client.post("/jobs/new/", form | ticks | {"pool-0-machine_type": "n6-standard-8", "do": "submit"})

        assert answer.status_code == 422
        assert not Job.objects.exists()

    def test_shows_approvers_what_is_not_known(
        self, owner: User, approver: User, stranger: User, signed_in: SignIn, form: dict[str, str]
    ) -> None:
        client = signed_in(owner)
        page = client.post("/jobs/new/", form | {"do": "check"}).content.decode()
        ticks = {name: "on" for name in page.split('"') if name.startswith("confirm-")}
        client.post("/jobs/new/", fields_of(page) | ticks | {"do": "submit"})
        job = Job.objects.get()

        shown = signed_in(approver).get(f"/jobs/{job.pk}/").content.decode()

        assert "“n5-standard-8” is not known to Trainboard as of 22 August 2026; Vertex AI decides." in shown
        assert "“logFormat” is not a field of jobSpec that is known to Trainboard" in shown
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404


def test_import_keeps_it_for_the_form(owner: User, approver: User, signed_in: SignIn, newer: Cloud) -> None:
    client = signed_in(owner)
    text = (
        f"curl -X POST -d '{json.dumps(BODY)}' https://{REGION}-aiplatform.googleapis.com/v1/projects/vision-research"
    )
    text += f"/locations/{REGION}/customJobs"
    page = client.post("/jobs/import/", {"text": text}).content.decode()
    assert "Vertex AI decides" in page

    address = next(each for each in page.split('"') if each.startswith("/jobs/new/?draft="))
    form = fields_of(client.get(address).content.decode()) | {"run_time": "1 h"}
    checked = client.post("/jobs/new/", form | {"do": "check"}).content.decode()
    ticks = {name: "on" for name in checked.split('"') if name.startswith("confirm-")}
    client.post("/jobs/new/", fields_of(checked) | ticks | {"do": "submit"})

    assert is_sent(Job.objects.get(), approver, newer) == JOB_SPEC


def test_command_line_sends_what_was_written(owner: User, approver: User, newer: Cloud, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(BODY))
    asked = ("submit", str(path), "--as", "owner", "--region", REGION)

    refused = Ran(*asked)
    assert refused.code == 1
    assert "--confirm jobSpec.scheduling.strategy=CALENDAR" in refused.err
    assert not Job.objects.exists()

    ran = Ran(*asked, *(word for each in confirmations() for word in ("--confirm", each)))
    assert ran.code == 0, ran.err
    assert is_sent(Job.objects.get(), approver, newer) == JOB_SPEC


class TestAfterwards:
    @pytest.fixture
    def job(self, owner: User, team: Team, clock: Clock) -> Job:
        """A requested job with a further attempt in another region."""
        read, _ = spec.read("custom_job", BODY)
        asked = spec.Submission("custom_job", team.project, REGION, read, confirmed=frozenset(confirmations()))
        plan = Plan((Step("", "us-central1"),))
        options = requests.RequestOptions(team, owner, timedelta(hours=1), clock.now, plan=plan)
        return requests.request_jobs([asked], options, request_key="one")[0]

    def test_a_further_attempt_is_the_same(self, job: Job, approver: User, newer: Cloud) -> None:
        newer.script("stockout")
        is_sent(job, approver, newer)
        newer.forward(hours=2)
        error = {"code": 8, "message": "Resources are insufficient in region: europe-west20."}
        Job.objects.filter(pk=job.pk).update(state="failed", error=error)
        attempt = FallbackAttempt.objects.get(job=job)
        assert fallbacks.make_next_attempt(attempt.fallback_id, now=newer.now) is True
        following = Job.objects.exclude(pk=job.pk).get()

        assert following.spec == BODY
        assert following.region == "us-central1"
        if following.state == "awaiting_approval":
            assert requests.approve(following, by=approver, comment="", now=newer.now)
        steps.advance(following.pk, clock=newer.clock)
        following.refresh_from_db()
        (document,) = [each for each in newer.jobs() if each["name"] == following.remote_name]
        assert document["jobSpec"] == JOB_SPEC
        assert "/locations/us-central1/" in document["name"]

    @pytest.mark.parametrize("format_key", ["rest", "gcloud-yaml", "curl"])
    def test_an_export_says_it_all(self, job: Job, format_key: str) -> None:
        text = exporter.write(submission_of(job), format_key)

        again = importer.read_text(text, name="newer", region=REGION)
        assert again.submission is not None
        assert spec.rest_body(again.submission.job)["jobSpec"] == JOB_SPEC


def test_a_new_field_of_an_answer_leaves_the_cost_of_an_adopted_job_known(
    team: Team, owner: User, cloud: Cloud
) -> None:
    make(cloud, name="theirs")
    row = found(cloud, owner)["theirs"]
    row.body |= {"servedBy": "cell-7", "jobSpec": row.body["jobSpec"] | {"quantumBits": 7}}
    row.save()

    job = observation.adopt(row, team=team, by=owner, now=cloud.now)

    assert job.hourly_usd is not None
    assert (job.spec["servedBy"], job.spec["jobSpec"]["quantumBits"]) == ("cell-7", 7)
