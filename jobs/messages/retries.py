"""Compute when a failed message is tried again, and when it is given up. Pure."""

from datetime import datetime, timedelta

from jobs.clock import backoff

FIRST_PAUSE = timedelta(seconds=30)
MAX_PAUSE = timedelta(hours=1)
GIVE_UP_AFTER = timedelta(hours=30)
"""A receiver that is down for a day and a few hours misses nothing."""
MAX_RETRY_AFTER = timedelta(hours=6)
"""The longest pause that a receiver may ask for."""


def next_attempt(now: datetime, failures: int, *, jitter: float, asked: timedelta | None = None) -> datetime:
    """Return the time of the next try after `failures` in a row, the last one included.

    The pause doubles from 30 seconds to one hour. `jitter` from 0 to 1 shortens it by up to a quarter, so that
    deliveries that failed together are not all tried together. `asked` is the pause that the receiver asked for,
    limited to six hours; jitter lengthens it by up to a tenth.
    """
    if asked is not None:
        pause = min(max(asked, timedelta(seconds=1)), MAX_RETRY_AFTER)
        return now + pause * (1 + jitter / 10)
    return now + backoff(FIRST_PAUSE, max(failures - 1, 0), MAX_PAUSE) * (1 - jitter / 4)
