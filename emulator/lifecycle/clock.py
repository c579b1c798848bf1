"""The clocks of an emulator: the wall clock, one that skips some waits, and one that tests set."""

import time


class WallClock:
    """The computer's clock."""

    def now(self) -> float:
        """Return the current time in seconds since 1970 (UTC)."""
        return time.time()


class SkippingClock(WallClock):
    """The computer's clock, ahead by the waits that tests have no time for (`timers.SKIPPED`)."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        """Return the time in seconds since 1970 (UTC), as far ahead as was skipped."""
        return super().now() + self._ahead

    def skip_to(self, moment: float) -> None:
        """Go on at `moment`. An earlier time than the current one is ignored."""
        self._ahead += max(0.0, moment - self.now())


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
