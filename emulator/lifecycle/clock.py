"""The two clocks of an emulator: the wall clock and a clock that tests set."""

import time


class WallClock:
    """The computer's clock."""

    def now(self) -> float:
        """Return the current time in seconds since 1970 (UTC)."""
        return time.time()


class SetClock:
    """A clock that moves only when it is set, and never backwards."""

    def __init__(self, start: float) -> None:
        self._now = start

    def now(self) -> float:
        """Return the time to which it was last set."""
        return self._now

    def set(self, moment: float) -> None:
        """Set the clock to `moment`. An earlier time than the current one is ignored."""
        self._now = max(self._now, moment)


Clock = WallClock | SetClock
