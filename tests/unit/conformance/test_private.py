"""Tests that nothing private is left in a recording, and that what everybody may read stays."""

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.conformance.private import Scrubber

LOWER, DIGITS = string.ascii_lowercase, string.digits
PROJECT, NUMBER, BUCKET = "apollo-research-17", "481516234207", "apollo-night-shift"
NAME = st.text(LOWER, min_size=3, max_size=12)
SECRETS = st.one_of(
    st.builds("{}-{}-{}".format, NAME, NAME, st.integers(10, 999_999)),  # a project id, a node, a service
    st.integers(10**9, 10**19 - 1).map(str),  # a project number or a job id
    st.builds("{}.{}@{}.example.com".format, NAME, NAME, NAME),
    st.builds("{}_{}.{}".format, NAME, NAME, NAME),  # a bucket
    st.builds("{}.{}.corp.internal".format, NAME, NAME),
    st.builds("10.{}.{}.{}".format, *[st.integers(0, 255)] * 3),
    st.builds("2001:db8:{:x}::{:x}".format, *[st.integers(4_096, 65_535)] * 2),
    st.builds("us-docker.pkg.dev/{0}-7/{1}/{1}:latest".format, NAME, NAME),
    st.builds("https://console.cloud.google.com/logs?project={}-{}".format, NAME, NAME),
    st.text(string.ascii_letters + DIGITS, min_size=20, max_size=40).map(lambda text: f"ya29.{text}_1"),
    st.sampled_from([PROJECT, NUMBER, BUCKET, PROJECT.upper()]),
)
FRAMES = st.sampled_from(
    ["{}", "({})", '"{}".', "It failed: {}", "The job {} in {} failed.", "name={}", "gs://{}/a", "projects/{}/logs/x",
     "projects/p/locations/us-central1/customJobs/{}", "//compute.googleapis.com/projects/{}", "a\t{};\nb", "`{}`",
     "https://{}/x", "key: '{}',", "{}/{}", "x={}&y={}", "${{{}}}"]
)  # fmt: skip
PLACES = st.sampled_from(
    [("error", "message"), ("displayName",), ("labels", "team"), ("name",), ("logName",), ("textPayload",),
     ("jsonPayload", "message"), ("resource", "labels", "project_id"), ("details", "metadata", "consumer"),
     ("jobSpec", "serviceAccount"), ("somethingNew",), ("webAccessUris", "workerpool0-0")]
)  # fmt: skip


def scrubber() -> Scrubber:
    found = Scrubber({PROJECT: "PROJECT", BUCKET: "BUCKET"}, ["trainboard_conformance"])
    found.learn_project(NUMBER)
    return found


@given(SECRETS, FRAMES, PLACES)
def test_a_planted_secret_is_never_in_the_file(secret: str, frame: str, place: tuple[str, ...]) -> None:
    value: Any = frame.replace("{}", secret)
    for name in reversed(place):
        value = {name: value}

    found = json.dumps(scrubber().scrub({"state": "JOB_STATE_FAILED", "list": [value]}), ensure_ascii=False)

    assert secret.lower() not in found.lower()
    assert "JOB_STATE_FAILED" in found


@given(SECRETS, st.sampled_from(["labels", "metadata", "env", "webAccessUris"]))
def test_a_secret_is_not_left_in_a_key(secret: str, within: str) -> None:
    found = json.dumps(scrubber().scrub({within: {secret: "x"}}), ensure_ascii=False)

    assert secret.lower() not in found.lower()


@given(st.integers(10**7, 10**18))
def test_a_number_that_may_be_an_id_is_not_left(number: int) -> None:
    assert str(number) not in json.dumps(scrubber().scrub({"id": number, "more": [{"n": -number}]}))


@pytest.mark.parametrize(
    "text",
    [
        'Machine type "n1-standard-1" is not supported.',
        'Accelerator "NVIDIA_TESLA_K80" is not supported for machine type "n1-standard-4"',
        "The replica workerpool0-0 exited with a non-zero status of 139(SIGSEGV). Termination reason: Error. ",
        "Replicas low on memory: workerpool0. Specify a machine with larger memory and try again.",
        "Resources are insufficient in region: us-central1. Please try a different region.",
        "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_cpus",
        "List of found errors:\t1.Field: job_spec.worker_pool_specs[0].machine_spec.accelerator_type; Message: Both "
        "`accelerator_type` and `accelerator_count` should be specified or none.\t",
        "The CustomJob does not exist.",
        "2026-02-19T15:24:38.556769Z",
        "type.googleapis.com/google.protobuf.Empty",
        "1200s",
        "us-central1-a",
        "n1-highmem-2-nvidia-tesla-t4-1",
    ],
)
def test_what_everybody_may_read_stays(text: str) -> None:
    assert scrubber().text(text) == text


def test_names_keep_their_form() -> None:
    found = scrubber()

    first = found.text(f"projects/{NUMBER}/locations/us-central1/customJobs/4752847832371691520")
    again = found.text(f"The job projects/{PROJECT}/locations/us-central1/customJobs/4752847832371691520 failed.")
    other = found.text(f"projects/{PROJECT}/locations/us-central1/customJobs/99999999999")

    assert first == "projects/PROJECT/locations/us-central1/customJobs/ID-1"
    assert again == f"The job {first} failed."
    assert other.endswith("/ID-2")
    assert found.text(f"projects/{PROJECT}/logs/workerpool0-0") == "projects/PROJECT/logs/workerpool0-0"
    assert found.text(f"gs://{BUCKET}/model") == "gs://BUCKET"


@pytest.mark.parametrize(
    "text", ["The bucket nightly is in location us.", "APOLLOMISSION", "labels.apollomission", "gs://nightly/a"]
)
def test_a_private_name_is_not_left_even_if_it_is_a_word(text: str) -> None:
    found = Scrubber({"apollomission": "PROJECT", "nightly": "BUCKET"}).scrub({"message": text, "nightly": 1})

    assert "nightly" not in json.dumps(found)
    assert "apollomission" not in json.dumps(found).lower()
