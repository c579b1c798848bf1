"""The one clock that decides: the database's. Claims, doubt and due times compare its time with its time.

The clocks of workers and of the site may be wrong by any amount: they only measure how long something took here, with
a monotonic clock, which no correction of the time of day moves.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from django.db import connection

DISPLAY_SECONDS = 10.0
_asked: tuple[datetime, float] | None = None
"""What the database answered `display_now` last, and this process's own seconds at that moment."""


class Clock(Protocol):
    """What a step asks about time."""

    def now(self) -> datetime:
        """Return the database's time."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, counted by this process."""


class DatabaseClock:
    """The database's time of day, and this process's own seconds."""

    def now(self) -> datetime:
        """Return the database's time; raises `django.db.OperationalError` where it does not answer."""
        return database_now()

    def monotonic(self) -> float:
        """Return seconds that only ever grow, counted by this process."""
        return time.monotonic()


def database_now() -> datetime:
    """Return the database's time."""
    return read_database_clock()


def display_now() -> datetime:
    """Return the database's time for what is only shown: asked for every DISPLAY_SECONDS, and counted on from there.

    Nothing is decided by it and no event is recorded with it; at most a poll is woken.
    """
    global _asked
    counted = time.monotonic()
    if _asked is None or not counted - _asked[1] <= DISPLAY_SECONDS:
        _asked = database_now(), counted
    return _asked[0] + timedelta(seconds=counted - _asked[1])


def read_database_clock() -> datetime:
    """Ask the database for its time.

    PostgreSQL returns the time of this very statement, also inside a transaction. SQLite, which runs inside the process
    on the one machine that uses it, returns that machine's, in milliseconds.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute("SELECT strftime('%%Y-%%m-%%dT%%H:%%M:%%f+00:00', 'now')", [])
            return datetime.fromisoformat(str(cursor.fetchone()[0]))
        cursor.execute("SELECT clock_timestamp()")
        row: tuple[datetime] = cursor.fetchone()
    return row[0].astimezone(UTC)


def backoff(first: timedelta, failures: int, maximum: timedelta) -> timedelta:
    """Return the pause after so many earlier failures in a row: `first`, doubled with each, up to `maximum`."""
    doubled: timedelta = first * 2 ** min(failures, 10)
    return min(doubled, maximum)
