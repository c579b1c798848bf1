"""A clock that only tests move."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jobs.queue import installation


@dataclass
class Clock:
    """A clock. `clock.now` is an aware datetime. `clock.forward(minutes=5)` advances and returns it."""

    now: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def forward(self, **span: float) -> datetime:
        """Advance by the arguments of a `timedelta`."""
        self.now += timedelta(**span)
        return self.now

    @property
    def clock(self) -> "DatabaseTime":
        """The same clock as passed to a step of a worker."""
        return DatabaseTime(lambda: self.now)


@dataclass
class DatabaseTime:
    """A `jobs.clock.Clock` for tests. Database and worker agree, and only the test moves the time."""

    moment: Callable[[], datetime]

    def now(self) -> datetime:
        """Return the database's time."""
        return self.moment()

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return self.moment().timestamp()


def watch_from(now: datetime) -> None:
    """Make this process watch the database from `now` on, as a worker does that starts then."""
    installation._watch = installation.Watch(began_at=now)
