"""The two clocks of an emulator: the wall's and one that tests set."""

import time


class WallClock:
    """The computer's clock."""

    def now(self) -> float:
        """Return the present moment in seconds since 1970 (UTC)."""
        return time.time()


class SetClock:
    """A clock that moves only when it is set, and never back."""

    def __init__(self, start: float) -> None:
        self._now = start

    def now(self) -> float:
        """Return the moment it was last set to."""
        return self._now

    def set(self, moment: float) -> None:
        """Move to `moment`; an earlier one than now is ignored."""
        self._now = max(self._now, moment)


Clock = WallClock | SetClock
