"""Steps in the life of a job over HTTP, shared by the journeys."""

from collections.abc import Callable
from typing import Any

from tests.support import waiting
from tests.support.person import Person

RUN_SECONDS = 120
QUICK = {"pool-0-args": "--epochs 20 --seconds-per-epoch 0.2"}
SLOW = {"pool-0-args": "--epochs 16 --seconds-per-epoch 0.5"}


def run_example(person: Callable[[str], Person], **changes: str) -> tuple[Person, str]:
    """Request the example as the engineer and approve it as the approver. Return the engineer and the job."""
    engineer = person("engineer")
    job = engineer.request_example(**changes)
    person("approver").decide(job)
    return engineer, job


def finished(person: Person, job: str) -> dict[str, Any]:
    """Wait until a job has ended and return its timeline."""
    ends = ("succeeded", "failed", "cancelled", "rejected", "submit_failed", "expired", "withdrawn")

    def ended() -> dict[str, Any] | None:
        timeline = person.timeline(job)
        return timeline if timeline["state"] in ends else None

    timeline = waiting.until(ended, seconds=RUN_SECONDS, every=0.5, what="the job has ended")
    assert timeline is not None
    return timeline


def states(timeline: dict[str, Any]) -> list[str]:
    """Return the states of the job in the order of its events."""
    return [event["to_state"] for event in timeline["events"] if event["kind"] == "state"]
