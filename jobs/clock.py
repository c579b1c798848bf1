"""The database's clock, which decides claims, due times and unanswered calls.

The clocks of workers and web processes may be wrong by any amount. They only measure durations within one process, with
a monotonic clock, which is not affected by corrections of the time of day.
"""

import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from django.db import connection

MIN_STEP = timedelta(seconds=2)
"""A smaller difference between two looks may come from a clock that is slewed."""
DISPLAY_SECONDS = 10.0
_asked: tuple[datetime, float] | None = None
"""The database's time at the last query of `display_now`, and this process's monotonic seconds at that moment."""


class Clock(Protocol):
    """The clock that steps use."""

    def now(self) -> datetime:
        """Return the database's time."""

    def monotonic(self) -> float:
        """Return this process's monotonic seconds."""


class DatabaseClock:
    """The database's time of day, and this process's monotonic seconds."""

    def now(self) -> datetime:
        """Return the database's time. Raise `django.db.OperationalError` if the database does not answer."""
        return database_now()

    def monotonic(self) -> float:
        """Return this process's monotonic seconds."""
        return time.monotonic()


def database_now() -> datetime:
    """Return the database's time."""
    return read_database_clock()


def display_now() -> datetime:
    """Return the database's time for display: queried every DISPLAY_SECONDS, extrapolated in between.

    Nothing is decided with it and no event is recorded with it; at most it wakes a poll.
    """
    global _asked
    counted = time.monotonic()
    if _asked is None or not counted - _asked[1] <= DISPLAY_SECONDS:
        _asked = database_now(), counted
    return _asked[0] + timedelta(seconds=counted - _asked[1])


def read_database_clock() -> datetime:
    """Query the database for its time.

    PostgreSQL returns the time of this statement, even inside a transaction. SQLite runs inside the process and returns
    the time of its machine, in milliseconds.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute("SELECT strftime('%%Y-%%m-%%dT%%H:%%M:%%f+00:00', 'now')", [])
            return datetime.fromisoformat(str(cursor.fetchone()[0]))
        cursor.execute("SELECT clock_timestamp()")
        row: tuple[datetime] = cursor.fetchone()
    return row[0].astimezone(UTC)


@dataclass(slots=True)
class StepWatch:
    """Notices steps of the database's clock, by comparing it with this machine's time since boot.

    That one is not corrected, and goes on while the machine is suspended (Linux).
    """

    _before: tuple[float, float] | None = None

    def look(self) -> timedelta:
        """Return by how much the database's clock has stepped since the last look, zero for less than MIN_STEP."""
        began = _since_boot()
        stamp = database_now().timestamp()
        ended = _since_boot()
        before, self._before = self._before, (stamp - ended, stamp - began)
        if before is None:
            return timedelta()
        # The offset of the two clocks lies between these bounds, however long the query took.
        forward, backward = self._before[0] - before[1], self._before[1] - before[0]
        step = timedelta(seconds=max(forward, 0.0) + min(backward, 0.0))
        return step if abs(step) >= MIN_STEP else timedelta()


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def backoff(first: timedelta, failures: int, maximum: timedelta) -> timedelta:
    """Return the pause after `failures` earlier failures in a row: `first`, doubled for each, at most `maximum`."""
    doubled: timedelta = first * 2 ** min(failures, 10)
    return min(doubled, maximum)
