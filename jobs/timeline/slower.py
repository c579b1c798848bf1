"""What made a run slower than the one before it: the part that grew most. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median

MIN_SHARE, MIN_SECONDS = 0.1, 60.0
"""A run is slower if it takes longer by both."""
MIN_PART = 0.5
"""A part explains a difference if it makes up at least this much of it."""
MIN_STEPS = 5
"""Pairs of lines from which a pace is calculated."""


class Part(StrEnum):
    """A part of the time between submission and end."""

    WAIT = "wait"
    """Until Vertex AI prepared the machines."""
    IMAGE = "image"
    """Preparation: machines start and load the image. Vertex AI calls it PENDING."""
    RESTARTS = "restarts"
    """Waits after restarts, and work that was repeated."""
    PACE = "pace"
    """Seconds a step."""
    STEPS = "steps"
    """More steps."""
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Times:
    """How long a run took, in seconds. None is not known; `pace` is in seconds a step."""

    whole: float
    wait: float | None = None
    image: float | None = None
    restarts: float | None = None
    pace: float | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Slower:
    """A run took `share` more time than the one before it, which is `seconds`, and `part` explains most of it."""

    share: float
    seconds: float
    part: Part


def compare_times(before: Times, after: Times) -> Slower | None:
    """Return how much slower a run was than the one before, None if it was not."""
    more = after.whole - before.whole
    if before.whole <= 0 or more < MIN_SECONDS or more / before.whole < MIN_SHARE:
        return None
    grown = _grown(before, after)
    part = max(grown, key=lambda each: grown[each], default=Part.UNKNOWN)
    explains = part and grown[part] >= MIN_PART * more
    return Slower(more / before.whole, more, part if explains else Part.UNKNOWN)


def _grown(before: Times, after: Times) -> Mapping[Part, float]:
    """Return by how many seconds each part grew that is known of both runs."""
    found = {}
    for part in (Part.WAIT, Part.IMAGE, Part.RESTARTS):
        was, now = getattr(before, part), getattr(after, part)
        if was is not None and now is not None:
            found[part] = now - was
    if before.pace is not None and after.pace is not None and after.steps is not None:
        found[Part.PACE] = (after.pace - before.pace) * after.steps
    if before.pace is not None and before.steps is not None and after.steps is not None:
        found[Part.STEPS] = (after.steps - before.steps) * before.pace
    return found


def pace_of(points: Sequence[tuple[float, int | None, float]]) -> float | None:
    """Return the usual seconds a step of points (seconds, step, value), None for too few steps.

    It is the median over neighbouring points, so that a restart or a long pause does not count.
    """
    steps = [(at, step) for at, step, _value in points if step is not None]
    pairs = pairwise(steps)
    found = [(later - at) / (reached - step) for (at, step), (later, reached) in pairs if reached > step and later > at]
    return median(found) if len(found) >= MIN_STEPS else None
