"""Tests of the import page: any text gives findings at its lines and a draft, or a reason; never a server error."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.forms.uploads import LIMIT
from jobs.importer import MAX_BYTES
from jobs.models import Draft, Job, Membership, Policy, Team
from jobs.requests import imported_drafts
from tests.pages.conftest import SignIn, text_in, text_of
from tests.support import samples

YAML = """\
# trains a small model
workerPoolSpecs:
  - machineSpec:
      machineType: a2-highgpu-1g
      acceleratorType: NVIDIA_TESLA_A100
      acceleratorCount: 1
    replicaCount: 1
    containerSpec:
      imageUri: us-docker.pkg.dev/trainboard/samples/penguins:latest
scheduling:
  strategy: SPOT
  timeout: 7200s
"""
PYTHON = """\
from google.cloud import aiplatform
aiplatform.init(location="us-central1")
pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "container_spec": {"image_uri": "gcr.io/x/y"}}
aiplatform.CustomJob(display_name="x", worker_pool_specs=[pool]).run()
"""
HTML = "<img src=x onerror=alert(1)>"


def send(client: Client, text: str = "", **more: Any) -> Any:
    return client.post("/jobs/import/", {"text": text, "run_time": "2 h", **more})


class TestReading:
    def test_recognises_the_format_and_shows_what_the_job_is(self, team: Team, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), YAML)

        assert page.status_code == 200
        for words in ("gcloud YAML", "1 × a2-highgpu-1g", "Spot", "us-central1", "imported-job"):
            assert words in text_of(page)
        assert '"machineType": "a2-highgpu-1g"' in text_of(page)

    def test_reads_rest_json_loss_free(self, owner: User, signed_in: SignIn) -> None:
        body = samples.body(scheduling={"maxWaitDuration": "0s"})

        send(signed_in(owner), json.dumps(body))

        assert Draft.objects.get().spec == body

    def test_puts_findings_at_their_lines(self, owner: User, signed_in: SignIn) -> None:
        text = YAML.replace("replicaCount", "replicaCuont").replace("a2-highgpu-1g", "a2-highgpu-99g")

        page = send(signed_in(owner), text).content.decode()

        lines = dict(re.findall(r'<li id="line-(\d+)" class="marked (\w+)">', page))
        assert lines["4"] == "error"  # the rules' finding
        assert lines["7"] == "error"  # the reader's
        at_seven = page.partition('id="line-7"')[2].partition("</li>")[0]
        assert "Did you mean `replicaCount`?" in at_seven

    def test_says_what_cannot_be_read_in_the_language_of_the_page(self, owner: User, signed_in: SignIn) -> None:
        wrong = YAML.replace("replicaCount: 1", "replicaCount: many")
        page = text_of(signed_in(owner).post("/jobs/import/", {"text": wrong}, headers={"accept-language": "es"}))

        assert "replicaCount debe ser un número entero, no “many”." in page
        assert "must be a whole number" not in page

    def test_says_what_policy_would_say(self, team: Team, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert "Needs approval by an approver of vision." in text_of(send(client, YAML))
        Policy.objects.filter(team=team).update(ask_over_usd=1000)
        assert "Allowed by policy." in text_of(send(client, YAML))
        assert "Cannot be submitted as it is" in text_of(send(client, YAML.replace("a2-highgpu-1g", "no-such")))

    def test_what_was_not_read_is_never_told_as_allowed(self, team: Team, owner: User, signed_in: SignIn) -> None:
        client, odd = signed_in(owner), YAML + "enableWebAccess: maybe\n"

        text = text_of(send(client, odd))
        Policy.objects.filter(team=team).update(ask_over_usd=1000)

        assert "could not be read" in text
        assert "The rest needs approval." in text
        assert "The rest is allowed by policy." in text_of(send(client, odd))

    def test_puts_what_concerns_the_whole_at_no_line(self, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), YAML).content.decode()

        assert "Expected $" in page
        assert "Expected $" not in page.partition('<ol class="source">')[2].partition("</ol>")[0]

    def test_asks_for_the_run_time(self, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), YAML, run_time="").content.decode()

        assert "required" in text_in(page, "id_run_time-finds")

    def test_tells_rules_but_no_cost_without_a_run_time(self, owner: User, signed_in: SignIn) -> None:
        text = text_of(send(signed_in(owner), YAML.replace("a2-highgpu-1g", "no-such"), run_time="soon"))

        assert "Write a number and its unit" in text
        assert "no-such" in text
        assert "Expected cost" not in text

    def test_says_where_the_job_will_run_instead(self, team: Team, owner: User, signed_in: SignIn) -> None:
        command = (
            "gcloud ai custom-jobs create --project=elsewhere --display-name=x --region=europe-west4 "
            "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/x/y"
        )

        text = text_of(send(signed_in(owner), command))

        assert "The text names the project “elsewhere”. Jobs of vision run in vision-research." in text
        assert Draft.objects.get().region == "europe-west4"

    def test_says_which_region_is_assumed(self, owner: User, signed_in: SignIn) -> None:
        assert "The text names no region; the default region of vision, us-central1, is used." in text_of(
            send(signed_in(owner), YAML)
        )

    def test_keeps_the_text_for_another_reading(self, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), YAML).content.decode()

        assert YAML in page.partition("<textarea")[2]

    def test_runs_no_python(self, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), "import os\nos._exit(1)\n")

        assert page.status_code == 422


class TestUpload:
    def test_counts_instead_of_the_text_and_gives_the_name(self, owner: User, signed_in: SignIn) -> None:
        file = SimpleUploadedFile("seg-unet.yaml", YAML.replace("\n", "\r\n").encode("utf-8-sig"))

        page = send(signed_in(owner), "nothing", file=file)

        assert Draft.objects.get().spec["displayName"] == "seg-unet"
        assert "penguins:latest" in page.content.decode().partition("<textarea")[2]

    @pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\x00\xff\xfe", b"\xff\xfe\xff", b"\x00" * 5000, b"\xc3("])
    def test_of_binary_data_says_so(self, owner: User, signed_in: SignIn, content: bytes) -> None:
        page = send(signed_in(owner), file=SimpleUploadedFile("model.bin", content))

        assert page.status_code == 422
        assert "binary data" in text_of(page)
        assert not Draft.objects.exists()

    def test_of_nothing_says_so(self, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), file=SimpleUploadedFile("empty.yaml", b""))

        assert page.status_code == 422
        assert "There is nothing to read." in text_of(page)


class TestSize:
    @pytest.mark.parametrize("size", [MAX_BYTES + 1, 2 * MAX_BYTES, 4 * MAX_BYTES])
    def test_of_a_text_is_limited(self, owner: User, signed_in: SignIn, size: int) -> None:
        page = send(signed_in(owner), "a: b\n" + "x" * size)

        assert page.status_code == 413
        assert f"It is larger than {LIMIT}." in text_of(page)
        assert len(page.content) < 100_000

    @pytest.mark.parametrize("size", [MAX_BYTES + 1, 12 * MAX_BYTES])
    def test_of_a_file_is_limited(self, owner: User, signed_in: SignIn, size: int) -> None:
        page = send(signed_in(owner), file=SimpleUploadedFile("big.yaml", b"x" * size))

        assert page.status_code == 413
        assert f"It is larger than {LIMIT}." in text_of(page)

    def test_of_one_megabyte_is_read(self, owner: User, signed_in: SignIn) -> None:
        text = YAML + "# " + "x" * (MAX_BYTES - len(YAML) - 2)

        assert send(signed_in(owner), text).status_code == 200
        assert send(signed_in(owner), file=SimpleUploadedFile("whole.yaml", text.encode())).status_code == 200

    def test_of_a_long_text_bounds_the_page(self, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), YAML.replace("7200s", "soon") + "# more\n" * 20_000)

        shown = page.content.decode().partition("<textarea")[0]
        assert page.status_code == 200
        assert "lines not shown" in text_of(page)
        assert 'id="line-12"' in shown
        assert len(shown) < 100_000


class TestAnything:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
    def test_is_answered(self, owner: User, signed_in: SignIn, text: str) -> None:
        assert send(signed_in(owner), text).status_code in {200, 422}

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " \n",
            "{",
            "[" * 20_000,
            "a: &a [*a]",
            "!!python/object/apply:os.system ['true']",
            "workerPoolSpecs: []",
            "workerPoolSpecs:\n- {}\n",
            '{"displayName": "x", "jobSpec": {"workerPoolSpecs": [{"replicaCount": 1e400}]}}',
            '{"trainingTaskDefinition": "gs://x/custom_task_1.0.0.yaml", "trainingTaskInputs": {}, '
            '"modelToUpload": {"explanationSpec": {"a": "\\u0000\\ud800"}}}',
            PYTHON.replace("us-central1", "\\ud800\\x00"),
            PYTHON.replace("us-central1", "r" * 5000),
        ],
    )
    def test_that_is_odd_is_answered(self, owner: User, signed_in: SignIn, text: str) -> None:
        assert send(signed_in(owner), text).status_code in {200, 422}

    def test_with_html_everywhere_shows_it_as_text(self, team: Team, owner: User, signed_in: SignIn) -> None:
        def spoilt(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: spoilt(item) for name, item in value.items()} | {HTML: HTML}
            return [spoilt(item) for item in value] if isinstance(value, list) else HTML

        Team.objects.filter(pk=team.pk).update(name=HTML)
        texts = [json.dumps(spoilt(samples.body()), indent=1), YAML.replace("SPOT", HTML), f"{HTML}: 1", HTML]
        texts += [f"gcloud ai custom-jobs create --region={HTML} --project={HTML} --{HTML}={HTML}"]
        for text in texts:
            for more in ({}, {"file": SimpleUploadedFile(f"{HTML}.yaml", text.encode())}, {"run_time": HTML}):
                page = send(signed_in(owner), text, **more).content.decode()

                assert "<img" not in page
                assert "&lt;img" in page

    def test_that_no_database_keeps_is_told(self, owner: User, signed_in: SignIn) -> None:
        body = {
            "displayName": "x",
            "trainingTaskDefinition": "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml",
            "trainingTaskInputs": samples.body()["jobSpec"],
            "modelToUpload": {"displayName": "m", "explanationSpec": {"metadata": {"a": "\0"}}},
        }

        page = send(signed_in(owner), json.dumps(body))

        assert "which cannot be stored" in text_of(page)
        assert not Draft.objects.exists()


class TestDraft:
    def test_opens_in_the_form_and_is_all_that_is_saved(self, team: Team, owner: User, signed_in: SignIn) -> None:
        page = send(signed_in(owner), YAML)

        draft = Draft.objects.get()
        assert f'href="/jobs/new/?draft={draft.pk}"' in page.content.decode()
        assert (draft.owner, draft.team, draft.kind, draft.expected_seconds) == (owner, team, "custom_job", 7200)
        assert not Job.objects.exists()

    def test_is_saved_for_the_team_that_was_chosen(
        self, team: Team, other_team: Team, owner: User, signed_in: SignIn
    ) -> None:
        Membership.objects.create(team=other_team, user=owner, role="engineer")
        client = signed_in(owner)

        send(client, YAML, team=str(other_team.pk))
        assert imported_drafts.submission_of(Draft.objects.get()).project == "speech-research"

    def test_is_never_saved_for_a_team_of_others(
        self, team: Team, other_team: Team, owner: User, signed_in: SignIn
    ) -> None:
        send(signed_in(owner), YAML, team=str(other_team.pk))

        assert not Draft.objects.filter(team=other_team).exists()

    def test_needs_a_role_that_requests(self, team: Team, signed_in: SignIn) -> None:
        viewer = User.objects.create_user("viewer")
        Membership.objects.create(team=team, user=viewer, role="viewer")

        for method in ("get", "post"):
            assert getattr(signed_in(viewer), method)("/jobs/import/").status_code == 403

    def test_needs_a_token(self, owner: User) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(owner)

        assert send(client, YAML).status_code == 403
        assert not Draft.objects.exists()

    def test_needs_a_sign_in(self, db: None) -> None:
        assert send(Client(), YAML).status_code == 302


def test_a_text_that_is_no_job_is_called_no_format(owner: User, signed_in: SignIn) -> None:
    page = signed_in(owner).post("/jobs/import/", {"text": "hello world", "run_time": "1 h"}).content.decode()

    assert "No job could be read" in page
    assert "looks like" not in page


def test_lines_with_errors_are_linked_and_no_price_is_called_old_where_none_is_known(
    owner: User, signed_in: SignIn
) -> None:
    text = YAML.replace("machineType: ", "machineType: no-such-")
    page = signed_in(owner).post("/jobs/import/", {"text": text, "run_time": "1 h"}).content.decode()

    number = next(at for at, line in enumerate(text.splitlines(), 1) if "no-such-" in line)
    assert f'href="#line-{number}">Line {number}</a>' in page
    assert "no price known" in page
    assert "days old" not in page
