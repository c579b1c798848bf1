"""Tests that the emulator counts how many complete responses showed each state of a resource."""

from typing import Any

import pytest

from tests.support import samples
from tests.support.running_emulator import Running

PARENT = "/v1/projects/counted/locations/us-central1"
KINDS = {
    "customJobs": ("custom_job", "jobs"),
    "hyperparameterTuningJobs": ("hyperparameter_tuning_job", "studies"),
    "trainingPipelines": ("training_pipeline", "pipelines"),
}


def answer_counts(emulator: Running, listed: str) -> list[tuple[str, int]]:
    """The life of the only resource of a kind."""
    whole = emulator.truth()[listed]
    (life,) = [each for each in whole if not each.get("owner")]
    return [(moment["state"].partition("STATE_")[2], moment["answers"]) for moment in life["history"]]


@pytest.mark.parametrize("collection", KINDS)
def test_each_whole_answer_counts_for_the_state_that_it_shows(scripted: Running, collection: str) -> None:
    kind, listed = KINDS[collection]
    made = scripted.call("POST", f"{PARENT}/{collection}", samples.BODIES[kind]())  # type: ignore[operator]
    first = answer_counts(scripted, listed)[-1]
    for fault in ("truncated", "503"):
        scripted.fault(fault, f"{collection}.get", times=1)
        with pytest.raises(Exception):  # noqa: B017, PT011 - cut JSON or an error status
            scripted.call("GET", f"/v1/{made['name']}")

    scripted.call("GET", f"/v1/{made['name']}")
    scripted.call("GET", f"{PARENT}/{collection}")
    scripted.call("GET", f"{PARENT}/{collection}?readMask=name")  # shows no state

    assert answer_counts(scripted, listed)[-1] == (first[0], first[1] + 2)


def test_a_state_that_no_answer_showed_counts_none(scripted: Running) -> None:
    made: Any = scripted.call("POST", f"{PARENT}/customJobs", samples.body())
    scripted.advance(86_400)

    scripted.call("GET", f"/v1/{made['name']}")

    assert answer_counts(scripted, "jobs") == [
        ("PENDING", 1),
        ("QUEUED", 0),
        ("PENDING", 0),
        ("RUNNING", 0),
        ("SUCCEEDED", 1),
    ]
