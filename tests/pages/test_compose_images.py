"""Tests of images on the compose page: size, missing images, and an unreachable registry."""

from django.contrib.auth.models import User
from django.test import Client

from jobs import known_images
from jobs.models import ImageReading, Job, Team
from jobs.spec.images import ImageStatus
from tests.pages.conftest import SignIn, fields_of, text_in, text_of
from tests.support.clock import Clock

CHECK = "/jobs/new/check/"
IMAGE = "europe-docker.pkg.dev/vision-research/train/resnet:1"
KNOWN = "pool-0-image-known"


def answer(clock: Clock, status: str, size: int | None = None, name: str = IMAGE) -> None:
    """Store a result of Artifact Registry for the image."""
    ImageReading.objects.filter(name=name).update(status=status, size_bytes=size, read_at=clock.now, due_at=None)
    known_images.forget()


def test_tells_the_size_when_it_is_known(engineer: Client, example: dict[str, str], clock: Clock) -> None:
    fields = example | {"run_time": "1 h", "pool-0-image": IMAGE}
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
    fields = example | {"run_time": "1 h", "pool-0-image": IMAGE}
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
        assert engineer.post(CHECK, example | {"pool-0-image": name}).status_code == 200

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
