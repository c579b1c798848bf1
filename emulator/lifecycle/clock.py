"""The two clocks that a life may run by: the wall's and one that tests set."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds since 1970 (UTC)."""

    def now(self) -> float:
        """Return the present moment."""


class WallClock:
    """The computer's clock."""

    def now(self) -> float:
        """Return the present moment."""
        return time.time()


class SetClock:
    """A clock that stands still until someone moves it; never runs by itself, may not go back."""

    def __init__(self, start: float) -> None:
        self._now = start

    def now(self) -> float:
        """Return the moment it was last set to."""
        return self._now

    def set(self, moment: float) -> None:
        """Move to `moment`; an earlier one than now is ignored."""
        self._now = max(self._now, moment)
