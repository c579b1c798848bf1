"""A clock that moves only when a test says so."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class Clock:
    """`clock.now` is an aware moment; `clock.forward(minutes=5)` moves it and returns it."""

    now: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def forward(self, **span: float) -> datetime:
        """Move by a span given as for `timedelta`."""
        self.now += timedelta(**span)
        return self.now

    @property
    def clock(self) -> "DatabaseTime":
        """The same time as a step of a worker is given it."""
        return DatabaseTime(lambda: self.now)


@dataclass
class DatabaseTime:
    """`jobs.clock.Clock` of a test: the database and the worker agree, and only the test moves the time."""

    moment: Callable[[], datetime]

    def now(self) -> datetime:
        """Return the database's time."""
        return self.moment()

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return self.moment().timestamp()
