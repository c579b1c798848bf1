"""How often a scope is polled, and how long a region that does not answer may block others.

The interval depends on the jobs of the scope. It is shorter while a job is being cancelled and longer when only long
runs are left. It is never so short that lists alone use more than half of the calls that Google allows. After failures
it doubles (`claims.release_failed`). Each process polls one failing scope at a time, with a short timeout, so that
regions that do not answer cannot occupy all of its threads.
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
"""A job that has run this long is unlikely to end in the next half minute."""
JOBS_PER_CALL = 100
SHARE_OF_LISTS = 2
"""Lists use at most half of the rate limit; gets and cancellations use the rest."""
PATIENCE_SECONDS = 20.0
"""Timeout of one call for a scope that answers. It is below `claims.LEASE`, which each answer renews."""
PROBE_SECONDS = 5.0
"""Timeout of one call for a scope whose last poll failed."""
MAX_POLL_SECONDS = 90.0
"""A poll ends after this time with the answers it has, so that a slow region frees its thread.

The next one continues.
"""
SLOWEST_PAGE_SECONDS = 2.0
"""Time allowed for each page of a list. A long list may exceed `MAX_POLL_SECONDS`, because every list starts anew."""

SPREAD = (math.sqrt(5) - 1) / 2
"""The fractional parts of multiples of the golden ratio are spread evenly between 0 and 1, however many there are."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_probe = threading.BoundedSemaphore(1)


class PolledJob(Protocol):
    """The properties of a job that the interval depends on."""

    @property
    def state(self) -> str:
        """The state, as in `Job`."""

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
    """Return when the row with this id is due again, within `interval` from now.

    Each row has its own phase in the interval. Otherwise rows that were all due at once, as after an outage, would stay
    due together, and every board would be rendered again in the same second.
    """
    phase = interval * (row_id * SPREAD % 1)
    return now + interval - (now - EPOCH - phase) % interval


def _pages(jobs_count: int) -> int:
    return math.ceil(jobs_count / JOBS_PER_CALL)


@contextmanager
def call_seconds(failures: int) -> Iterator[float]:
    """Yield the timeout of a call in seconds, or zero if this scope fails and another thread polls a failing scope."""
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
    """Measure how long a step has taken. The time is an argument, as everywhere in the domain."""

    def __init__(self, now: datetime, *, jobs_count: int = 0) -> None:
        """Start now. `jobs_count` is the number of jobs that the step lists."""
        self._now, self._began = now, time.monotonic()
        self._longest = max(MAX_POLL_SECONDS, _pages(jobs_count) * SLOWEST_PAGE_SECONDS)

    @property
    def now(self) -> datetime:
        """The time at which the step began plus the time it has taken."""
        return self._now + timedelta(seconds=time.monotonic() - self._began)

    @property
    def has_run_out(self) -> bool:
        """Whether a poll should end."""
        return time.monotonic() - self._began > self._longest
