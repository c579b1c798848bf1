"""Claims: what we believe about Vertex AI, each as one sentence with its source and a pure check of a recording."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from jobs.conformance.recording import Recording, Story

Result = Literal["holds", "differs", "not observed"]
Basis = Literal["recorded", "documented", "assumed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for one claim and what shows it."""

    result: Result
    evidence: str


Check = Callable[[Story], Outcome]


def holds(evidence: str) -> Outcome:
    """Return that the recording agrees with the claim."""
    return Outcome("holds", evidence)


def differs(evidence: str) -> Outcome:
    """Return that the recording contradicts the claim."""
    return Outcome("differs", evidence)


def unseen(reason: str) -> Outcome:
    """Return that the recording does not show whether the claim holds."""
    return Outcome("not observed", reason)


def decide(is_so: bool, evidence: str) -> Outcome:
    """Return `holds` or `differs`."""
    return holds(evidence) if is_so else differs(evidence)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim about one experiment.

    `basis` is how we know it: recorded answers, Google's documentation, or assumed until somebody records it. Claims
    with `is_timed` are about the duration of the service's own steps, which an emulator with a speed shortens.
    """

    name: str
    text: str
    source: str
    basis: Basis
    check: Check
    is_timed: bool = False


def check_claim(claim: Claim, experiment: str, recording: Recording) -> Outcome:
    """Return the outcome of a claim."""
    story = recording.of(experiment)
    if not story.answers:
        return unseen("The experiment was not run.")
    if claim.is_timed and recording.speed != 1:
        return unseen(f"The service's times are divided by {recording.speed:g} here.")
    return claim.check(story)


def as_row(claim: Claim, experiment: str, outcome: Outcome) -> dict[str, Any]:
    """Return the row of an outcome in the file."""
    return {
        "kind": "claim",
        "experiment": experiment,
        "claim": claim.name,
        "text": claim.text,
        "source": {"facts": claim.source},
        "basis": claim.basis,
        "outcome": outcome.result,
        "evidence": outcome.evidence,
    }
