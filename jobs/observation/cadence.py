"""How often a scope is polled, and how much a region that does not answer may hold up.

The interval follows the jobs of the scope: shorter while a cancellation is under way, longer when nothing but long runs
is left, and never so short that lists alone use up more than half of the calls that Google allows. After failures it
doubles (`claims.release_failed`), and polls of failing scopes are made one at a time in each process and
with little patience, so that regions that hang cannot hold all of its threads.
"""

import math
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol

from django.conf import settings

from jobs.states import JobState

LONG_RUN = timedelta(hours=6)
"""A job that has run for so long will hardly end in the next half minute."""
JOBS_PER_CALL = 100
SHARE_OF_LISTS = 2
"""Lists use at most half of the budget; gets and cancellations have the rest."""
PATIENCE_SECONDS = 20.0
"""For one call of a scope that answers; below `claims.LEASE`, which each answer renews."""
PROBE_SECONDS = 5.0
"""For one call of a scope whose last poll failed."""
MAX_POLL_SECONDS = 90.0
"""After this a poll ends with what it has, so that a slow region frees its thread; the next one goes on."""
SLOWEST_PAGE_SECONDS = 2.0
"""A list begins anew each time, so a long one may take longer than that: so much for each of its pages."""

SPREAD = (math.sqrt(5) - 1) / 2
"""Multiples of the golden ratio, without their whole part, lie evenly between 0 and 1 however many there are."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_probe = threading.BoundedSemaphore(1)


class PolledJob(Protocol):
    """What the interval depends on."""

    @property
    def state(self) -> str:
        """As in `Job`."""

    @property
    def runs_long(self) -> bool:
        """Whether it has run for more than `LONG_RUN`."""

    @property
    def is_to_be_cancelled(self) -> bool:
        """Whether somebody asked to cancel it."""


def poll_interval(jobs: Collection[PolledJob]) -> timedelta:
    """Return how long to wait before the next poll of these jobs of one scope."""
    usual: timedelta = settings.POLL_INTERVAL
    if any(job.is_to_be_cancelled or job.state == JobState.CANCELLING for job in jobs):
        wanted = usual / 2
    elif all(job.runs_long for job in jobs):
        wanted = usual * 2
    else:
        wanted = usual
    least = timedelta(minutes=1) * _pages(len(jobs)) * SHARE_OF_LISTS / settings.READS_PER_MINUTE
    return max(wanted, least)


def next_poll_at(row_id: int, interval: timedelta, *, now: datetime) -> datetime:
    """Return when the row with this id is due again: at its own moment of each interval, so at most that long from now.

    The moments of different rows are spread over the interval. Rows that were all due at once, as after an outage,
    would else be due together ever after, and every board would be drawn anew in the same second.
    """
    phase = interval * (row_id * SPREAD % 1)
    return now + interval - (now - EPOCH - phase) % interval


def _pages(jobs_count: int) -> int:
    return math.ceil(jobs_count / JOBS_PER_CALL)


@contextmanager
def call_seconds(failures: int) -> Iterator[float]:
    """Yield how many seconds a call may take; zero while another thread asks a failing scope and this one fails too."""
    if not failures:
        yield PATIENCE_SECONDS
    elif _probe.acquire(blocking=False):
        try:
            yield PROBE_SECONDS
        finally:
            _probe.release()
    else:
        yield 0.0


class Stopwatch:
    """How long a step has taken so far; the time is an argument, as everywhere in the domain."""

    def __init__(self, now: datetime, *, jobs_count: int = 0) -> None:
        """Begin now; `jobs_count` is how many jobs the step lists."""
        self._now, self._began = now, time.monotonic()
        self._longest = max(MAX_POLL_SECONDS, _pages(jobs_count) * SLOWEST_PAGE_SECONDS)

    @property
    def now(self) -> datetime:
        """The moment at which the step began plus what it took."""
        return self._now + timedelta(seconds=time.monotonic() - self._began)

    @property
    def has_run_out(self) -> bool:
        """Whether a poll should end."""
        return time.monotonic() - self._began > self._longest
