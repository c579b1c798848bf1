"""Tests of what a worker looks up for the compose page: images with their size, and output folders."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from jobs import known_images, transitions
from jobs.models import ImageReading, Job, Team
from jobs.spec.images import ImageStatus
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_in, text_of
from tests.support.clock import Clock

CHECK = "/jobs/new/check/"
IMAGE = "europe-docker.pkg.dev/vision-research/train/resnet:1"
KNOWN = "pool-0-image-known"


def answer(clock: Clock, status: str, size: int | None = None, name: str = IMAGE) -> None:
    """Store a result of Artifact Registry for the image."""
    ImageReading.objects.filter(name=name).update(status=status, size_bytes=size, read_at=clock.now, due_at=None)
    known_images.forget()


def test_tells_the_size_when_it_is_known(
    engineer: Client, example: dict[str, str], clock: Clock, settings: Any
) -> None:
    settings.CAPACITY_ADVICE = False  # which the page would wait for too
    fields = example | {"run_time": "1 h", "pool-0-image": IMAGE, "output": ""}
    page = engineer.post(CHECK, fields).content.decode()
    assert text_in(page, KNOWN) == "Looking up the image in Artifact Registry."
    assert 'hx-trigger="load delay:2s"' in page

    answer(clock, ImageStatus.FOUND, 4 * 2**30)
    clock.forward(minutes=10)
    page = engineer.post(CHECK, fields).content.decode()
    assert text_in(page, KNOWN) == "Image size: 4.0 GB in Artifact Registry, read 10 min ago ."
    assert "load delay:2s" not in page

    answer(clock, ImageStatus.FOUND)
    page = engineer.post(CHECK, fields).content.decode()
    assert text_in(page, KNOWN).startswith("The image exists in Artifact Registry, read")


def test_a_missing_image_is_noted_at_its_field_and_stops_nobody(
    engineer: Client, example: dict[str, str], clock: Clock
) -> None:
    fields = example | {"run_time": "1 h", "pool-0-image": IMAGE, "output": ""}
    engineer.post(CHECK, fields)
    answer(clock, ImageStatus.NO_IMAGE)

    page = engineer.post(CHECK, fields).content.decode()
    assert "There is no image resnet:1 in europe-docker.pkg.dev/vision-research/train" in text_in(
        page, "id_pool-0-image-finds"
    )
    engineer.post("/jobs/new/", fields | {"do": "submit"})
    assert Job.objects.count() == 1


def test_images_elsewhere_and_odd_names_are_not_asked_about(engineer: Client, example: dict[str, str]) -> None:
    ImageReading.objects.all().delete()
    for name in ("python:3.12", "gcr.io/p/x", "us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest",
                 "europe-docker.pkg.dev/vision-research/train/<script>", "x" * 3_000, f"{IMAGE}\x00"):  # fmt: skip
        assert engineer.post(CHECK, example | {"pool-0-image": name, "output": ""}).status_code == 200

    assert not ImageReading.objects.exists()


def test_another_team_is_told_nothing(
    stranger: User, signed_in: SignIn, engineer: Client, example: dict[str, str], clock: Clock, team: Team
) -> None:
    engineer.post(CHECK, example | {"pool-0-image": IMAGE})
    answer(clock, ImageStatus.FOUND, 4 * 2**30)
    browser = signed_in(stranger)
    fields = fields_of(browser.get("/jobs/new/?example=1").content.decode()) | {"pool-0-image": IMAGE}

    told = browser.post(CHECK, fields | {"team": str(team.pk)})
    assert "Artifact Registry" not in text_of(told)
    assert ImageReading.objects.filter(name=IMAGE).count() == 1


class TestOutputFolder:
    FOLDER = "gs://vision-training/nightly"

    def check(self, engineer: Client, example: dict[str, str], **changes: str) -> str:
        fields = example | {"run_time": "1 h", "output": self.FOLDER} | changes
        return text_of(engineer.post(CHECK, fields))

    def test_of_another_job_is_noted(
        self, make_job: MakeJob, engineer: Client, example: dict[str, str], clock: Clock
    ) -> None:
        assert "another job" not in self.check(engineer, example)
        job = make_job("running", folder=f"{self.FOLDER}/")

        assert f"Another job of the team writes into the output folder: {job.display_name}" in self.check(
            engineer, example
        )
        transitions.transition(job, "succeeded", now=clock.forward(minutes=4), message="It succeeded.")
        found = self.check(engineer, example)
        assert f"The output folder belongs to another job of the team: {job.display_name} (succeeded)" in found
        assert "another job" not in self.check(engineer, example, output=f"{self.FOLDER}-2").lower()

    def test_with_checkpoints_is_noted_when_a_worker_has_looked(
        self, engineer: Client, example: dict[str, str], clock: Clock, team: Team
    ) -> None:
        Team.objects.filter(pk=team.pk).update(bucket="gs://vision-training")
        assert "holds checkpoints" not in self.check(engineer, example)
        answer(clock, ImageStatus.NO_CHECKPOINTS, name=self.FOLDER)
        assert "holds checkpoints" not in self.check(engineer, example)

        answer(clock, ImageStatus.CHECKPOINTS, 2**30, name=self.FOLDER)

        found = self.check(engineer, example)
        assert "The output folder holds checkpoints (read 2026-03-02 09:" in found
        assert "unless it is meant to continue from there" in found

    def test_in_a_bucket_of_others_is_not_looked_up(
        self, engineer: Client, example: dict[str, str], team: Team
    ) -> None:
        Team.objects.filter(pk=team.pk).update(bucket="gs://vision-training")

        self.check(engineer, example, output="gs://audio-secrets/x")

        assert not ImageReading.objects.filter(name__startswith="gs://audio-secrets").exists()

    def test_of_the_last_run_is_continued_only_by_choice(self, make_job: MakeJob, engineer: Client) -> None:
        job = make_job("running", folder=self.FOLDER)

        page = engineer.get(f"/jobs/new/?job={job.pk}").content.decode()
        assert f'value="{self.FOLDER}/run-' in page
        assert "Continue from the last output instead" in page

        page = engineer.get(f"/jobs/new/?job={job.pk}&continue=1").content.decode()
        assert f'value="{self.FOLDER}"' in page
        assert f"It continues from the last output, in {self.FOLDER}." in page
        assert "Continue from the last output instead" not in page
        assert "Another job of the team writes into the output folder" in page
