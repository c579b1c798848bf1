"""Tests that any message from Vertex AI gives a diagnosis quickly, and that it can be stored."""

import json
import time
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.diagnosis import diagnose
from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.diagnosis import ACTIONS

PIECES = (
    "The replica workerpool0-0 exited with a non-zero status of ",
    "The replica ps 1 ran out-of-memory and exited with a non-zero status of ",
    "137",
    "1(SIGABRT). ",
    ". Termination reason: ",
    "StartError. ",
    "Error.\nTraceback (most recent call last):\n",
    "ValueError: x\n",
    "Replicas low on memory: workerpool",
    "Resources are insufficient in region: ",
    "us-central1. ",
    "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_cpus, ",
    "List of found errors:\t",
    "1.Field: ",
    "; Message: ",
    "Internal error encountered. ",
    "does not have permission to access Artifact Registry repository ",
    "CANCELED",
    "CUDA out of memory",
    "No space left on device\n",
    'Unknown name "x" at \'custom_job.job_spec',
    "google.api_core.exceptions.Forbidden: 403 ",
    "persistent resource ",
    "trial metric ",
    "NCCL \n",
    "\\n",
    "a.b",
    "x" * 50 + "Error: ",
)
messages = st.text() | st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join)


@given(st.none() | st.integers(), messages)
def test_any_message_has_a_known_cause_or_none(code: int | None, message: str) -> None:
    found = diagnose(code, message)

    if found is None:
        assert not message.strip()
        assert not code
        return
    assert found.cause in CAUSES
    assert all((found.title, found.explanation, found.remedy, found.source))
    assert {each["action"] for each in found.suggestions} <= ACTIONS
    json.dumps(asdict(found))


@pytest.mark.parametrize(
    "piece", [*PIECES, "a", " ", "1", "-", "\n", "workerpool0, ", "bucket of ", "a.googleapis.com/"]
)
def test_long_message_is_read_quickly(piece: str) -> None:
    began = time.thread_time()

    for start in ("", "The replica workerpool0-0 exited with a non-zero status of 1.", *PIECES[8:13]):
        diagnose(3, start + piece * (100_000 // len(piece)))

    assert time.thread_time() - began < 3
