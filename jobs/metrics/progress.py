"""How far a training is, when it will end at its pace, and how much of it a restart lost. Pure; times are seconds."""

from collections.abc import Sequence
from dataclasses import dataclass

MIN_SECONDS, MIN_SHARE = 10.0, 0.002
"""A pace is taken only from a run that lasted so long and came so far."""


@dataclass(slots=True)
class Run:
    """A stretch in which progress only grew, from (since, began) to (until, reached); `middle` is for the pace of late.

    Times in seconds since 1970, progress from 0 to 1.
    """

    since: float
    began: float
    until: float
    reached: float
    middle_at: float = 0.0
    middle: float = 0.0

    def move(self, at: float, fraction: float) -> None:
        """Take in a later time and how far the training was then."""
        if not self.middle_at or self.middle_at - self.since < (at - self.since) / 4:
            self.middle_at, self.middle = self.until, self.reached
        self.until, self.reached = at, fraction

    @property
    def pace(self) -> float | None:
        """Return the progress of a second, of late; None where the run is too short for one."""
        for since, began in ((self.middle_at, self.middle), (self.since, self.began)):
            if since and self.until - since >= MIN_SECONDS and self.reached - began >= MIN_SHARE:
                return (self.reached - began) / (self.until - since)
        return None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is: `fraction` 0 to 1 as of `at`, `seconds_left` from then on at the pace of late."""

    fraction: float
    at: float
    seconds_left: float | None


def progress(runs: Sequence[Run]) -> Progress | None:
    """Return how far the training is; None where it is not known.

    A run that was only just begun goes on at the pace of the one before it.
    """
    if not runs:
        return None
    last = runs[-1]
    pace = next((run.pace for run in reversed(runs) if run.pace), None)
    return Progress(last.reached, last.until, (1 - last.reached) / pace if pace else None)


def lost_seconds(runs: Sequence[Run], at: float) -> float | None:
    """Return how long the work took that was made again after an interruption at `at`; None where no run shows it.

    That is the time from which on the run before had gone further than the run after began.
    """
    before = [run for run in runs if run.since <= at]
    after = [run for run in runs if run.since > at]
    if not before or not after or after[0].began > before[-1].reached:
        return None
    run, resumed = before[-1], after[0].began
    whole = run.reached - run.began
    share = (resumed - run.began) / whole if whole > 0 else 0.0
    reached_at = run.since + max(0.0, share) * (run.until - run.since)
    return max(0.0, at - reached_at)
