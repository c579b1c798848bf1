"""Tests of what the compose page and `jobspec check` show in advance: permissions, quotas, the console, images."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from tests.pages.conftest import SignIn, text_of
from tests.support import samples
from tests.support.person import compose_form

CONSOLE = "Spot jobs cannot be submitted in Google's console"


def checked(client: Client, **changes: str) -> str:
    """Return the live findings for the example job with some changes."""
    form = compose_form(client.get("/jobs/new/?example=1").content.decode()).values
    return text_of(client.post("/jobs/new/check/", form | changes))


class TestPermissions:
    def test_are_those_of_what_the_job_uses(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        page = text_of(client.get("/jobs/new/?example=1"))
        told = checked(client, service_account="robot@other.iam.gserviceaccount.com")

        assert "aiplatform.customJobs.create" in page
        assert "roles/iam.serviceAccountUser" not in page
        assert "roles/iam.serviceAccountUser on robot@other.iam.gserviceaccount.com" in told
        assert "roles/iam.serviceAccountTokenCreator" in told
        assert re.search(r"general/custom-service-account\s*, read 2026-08-22", told)

    def test_follow_the_kind_of_job(self, owner: User, signed_in: SignIn) -> None:
        told = checked(signed_in(owner), kind="training_pipeline")

        assert "aiplatform.trainingPipelines.create" in told
        assert "aiplatform.customJobs.create" not in told

    def test_text_of_the_job_stays_text(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        form = compose_form(client.get("/jobs/new/?example=1").content.decode()).values

        answer = client.post("/jobs/new/check/", form | {"encryption_key": "<img src=x>"}).content.decode()

        assert "roles/cloudkms.cryptoKeyEncrypterDecrypter" in answer
        assert "<img" not in answer

    def test_are_printed_for_machines(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], db: Any) -> None:
        path = tmp_path / "job.json"
        path.write_text(json.dumps(samples.body()))

        with contextlib.suppress(SystemExit):  # whatever else is found in the job
            call_command("jobspec", "check", str(path), "--json")

        first = json.loads(capsys.readouterr().out)[0]["permissions"][0]
        assert first["role"] == "roles/aiplatform.user"
        assert set(first) == {"who", "address", "what", "where", "role", "permissions", "source", "read"}


class TestStrategies:
    def test_spot_cannot_be_submitted_through_the_console(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert CONSOLE in checked(client, strategy="spot")
        assert CONSOLE not in checked(client, strategy="standard")

    def test_a_card_says_how_much_of_which_quota(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        h100 = {"pool-0-machine_type": "a3-highgpu-8g", "region": "us-central1"}

        told = checked(client, strategy="standard", **h100)

        assert "8 of custom_model_training_nvidia_h100_gpus (0 unless granted)" in told
        assert "8 of custom_model_training_preemptible_nvidia_h100_gpus" in checked(client, strategy="spot", **h100)
        assert "208 of custom_model_training_a3_cpus" in told

    def test_an_image_without_cuda_is_told_at_its_field(self, owner: User, signed_in: SignIn) -> None:
        told = checked(signed_in(owner), **{"pool-0-image": "python:3.11-slim"})

        assert "“python:3.11-slim” has no CUDA libraries of its own" in told


def test_who_is_in_no_team_sees_none_of_it(signed_in: SignIn, django_user_model: type[User]) -> None:
    nobody = django_user_model.objects.create_user("nobody")

    assert signed_in(nobody).get("/jobs/new/?example=1").status_code == 403


def test_a_stranger_is_told_of_the_own_project_only(owner: User, stranger: User, signed_in: SignIn) -> None:
    page = text_of(signed_in(stranger).get("/jobs/new/?example=1"))

    assert "project speech-research" in page
    assert "vision-research" not in page
