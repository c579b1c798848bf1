"""Tests of listing checkpoints in a real bucket of the emulator. Failures there change nothing about the job."""

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.models import Job, JobMetrics
from jobs.observation.checkpoints import MAX_CHECKPOINTS, checkpoints_in, list_checkpoints
from jobs.vertex import VertexClient
from tests.domain.conftest import Cloud

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def put(cloud: Cloud, name: str, at: datetime) -> None:
    """Write an object as a program would, at a moment."""
    cloud._emulator.call("POST", f"/upload/storage/v1/b/vision/o?uploadType=media&name={name}", {"w": 1})
    os.utime(cloud._emulator.state / "buckets" / "vision" / name, (at.timestamp(), at.timestamp()))


@pytest.fixture
def running(submitted: Job) -> Job:
    """A job that runs and writes to gs://vision/out."""
    submitted.spec["jobSpec"]["baseOutputDirectory"] = {"outputUriPrefix": "gs://vision/out/"}
    submitted.started_at = submitted.requested_at
    submitted.save()
    return submitted


def test_the_newest_are_kept_in_order(running: Job, cloud: Cloud) -> None:
    put(cloud, "out/checkpoints/step-2/model.bin", cloud.now - timedelta(minutes=5))
    put(cloud, "out/checkpoints/step-1/model.bin", cloud.now - timedelta(minutes=20))
    put(cloud, "out/checkpoints/step-2/optimizer.bin", cloud.now - timedelta(minutes=5) + timedelta(seconds=30))
    put(cloud, "elsewhere/checkpoints/step-3", cloud.now)

    list_checkpoints(running, now=cloud.now)

    row = JobMetrics.objects.get(job=running)
    assert [name for _, name, _ in row.checkpoints] == [
        "out/checkpoints/step-1/model.bin", "out/checkpoints/step-2/optimizer.bin",
    ]  # fmt: skip
    assert row.checkpoints_error == ""


def test_they_are_listed_once_a_minute(running: Job, cloud: Cloud) -> None:
    for seconds in (0, 20, 20, 20):
        list_checkpoints(running, now=cloud.forward(seconds=seconds) if seconds else cloud.now)

    assert cloud.calls()["storage.objects.list"] == 4, "two folders, twice"


def test_a_bucket_that_does_not_answer_changes_nothing_of_the_job(running: Job, cloud: Cloud, settings: Any) -> None:
    list_checkpoints(running, now=cloud.now)
    before = Job.objects.filter(pk=running.pk).values().get()
    settings.STORAGE_ENDPOINT = "http://127.0.0.1:9"

    list_checkpoints(running, now=cloud.forward(minutes=2))

    assert "could not be listed" in JobMetrics.objects.get(job=running).checkpoints_error
    assert Job.objects.filter(pk=running.pk).values().get() == before


def test_a_job_without_an_output_folder_asks_nothing(submitted: Job, cloud: Cloud) -> None:
    submitted.spec["jobSpec"].pop("baseOutputDirectory", None)
    submitted.started_at = submitted.requested_at

    list_checkpoints(submitted, now=cloud.now)

    assert "storage.objects.list" not in cloud.calls()


def test_at_most_so_many_objects_are_asked_for(cloud: Cloud, settings: Any) -> None:
    for number in range(5):
        put(cloud, f"out/{number}", cloud.now)

    assert len(VertexClient(endpoint=settings.VERTEX_ENDPOINT).objects("gs://vision/out", limit=3)) == 3


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("out/checkpoints/7", True),
        ("out/checkpoint-500/optimizer.pt", True),
        ("lightning_logs/version_0/checkpoints/epoch=3-step=120.ckpt", True),
        ("ckpt-7.index", True),
        ("model.keras", True),
        ("out/ckpt7", True),
        ("model/saved_model.pb", False),
        ("logs/events.out.tfevents.1", False),
        ("data/script.py", False),
    ],
)
def test_names_tell_checkpoints(name: str, is_one: bool) -> None:
    assert bool(checkpoints_in([(NOON, name, 1)])) == is_one


@given(st.lists(st.tuples(st.integers(0, 10**6), st.text(max_size=20)), max_size=200))
def test_any_listing_gives_few_in_order(files: list[tuple[int, str]]) -> None:
    found = checkpoints_in((NOON + timedelta(seconds=at), f"ckpt/{name}", 1) for at, name in files)

    assert len(found) <= MAX_CHECKPOINTS
    assert [each[0] for each in found] == sorted(each[0] for each in found)
