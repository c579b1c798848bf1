"""The progress of a training and its expected end. Pure; times are seconds."""

from collections.abc import Sequence
from dataclasses import dataclass

MIN_SECONDS, MIN_SHARE = 10.0, 0.002
"""A pace is calculated only from a run of at least this length and progress."""


@dataclass(slots=True)
class Run:
    """A span in which progress only grew, from (since, began) to (until, reached). `middle` is for the recent pace.

    Times are in seconds since 1970, progress is 0 to 1.
    """

    since: float
    began: float
    until: float
    reached: float
    middle_at: float = 0.0
    middle: float = 0.0

    def move(self, at: float, fraction: float) -> None:
        """Extend the run to a later time and its progress."""
        if not self.middle_at or self.middle_at - self.since < (at - self.since) / 4:
            self.middle_at, self.middle = self.until, self.reached
        self.until, self.reached = at, fraction

    @property
    def pace(self) -> float | None:
        """The recent progress per second, or None if the run is too short."""
        for since, began in ((self.middle_at, self.middle), (self.since, self.began)):
            if since and self.until - since >= MIN_SECONDS and self.reached - began >= MIN_SHARE:
                return (self.reached - began) / (self.until - since)
        return None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a training: `fraction` (0 to 1) at the time `at`, and `seconds_left` then at the recent pace."""

    fraction: float
    at: float
    seconds_left: float | None


def progress(runs: Sequence[Run]) -> Progress | None:
    """Return the progress of the training, or None if it is unknown.

    A run that has just begun is assumed to have the pace of the previous one.
    """
    if not runs:
        return None
    last = runs[-1]
    pace = next((run.pace for run in reversed(runs) if run.pace), None)
    return Progress(last.reached, last.until, (1 - last.reached) / pace if pace else None)
