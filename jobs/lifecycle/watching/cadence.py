"""How often a scope is looked at, and how much a region that does not answer may hold up.

The pause between two looks follows what is to be seen: shorter while a cancellation is under way, longer when nothing
but long runs is left, and never so short that lists alone use up more than half of the calls that Google allows. After
failures it doubles (`claims.release_failed`), and looks at failing scopes are made one at a time in each process and
with little patience, so that regions that hang cannot hold all of its threads.
"""

import math
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
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
"""For one call of a scope whose last look failed."""
LONGEST_LOOK_SECONDS = 90.0
"""After this a look ends with what it has; the next one goes on."""

_probe = threading.BoundedSemaphore(1)


class Watched(Protocol):
    """What the pause depends on."""

    @property
    def state(self) -> str:
        """As in `Job`."""

    @property
    def runs_long(self) -> bool:
        """Whether it has run for more than `LONG_RUN`."""

    @property
    def is_to_be_cancelled(self) -> bool:
        """Whether somebody asked to cancel it."""


def pause(jobs: Collection[Watched]) -> timedelta:
    """How long to wait before the next look at these jobs of one scope."""
    usual: timedelta = settings.POLL_INTERVAL
    if any(job.is_to_be_cancelled or job.state == JobState.CANCELLING for job in jobs):
        wanted = usual / 2
    elif all(job.runs_long for job in jobs):
        wanted = usual * 2
    else:
        wanted = usual
    calls = math.ceil(len(jobs) / JOBS_PER_CALL)
    least = timedelta(minutes=1) * calls * SHARE_OF_LISTS / settings.READS_PER_MINUTE
    return max(wanted, least)


@contextmanager
def turn(failures: int) -> Iterator[float]:
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
    """How long a step has taken so far; the moment itself is told from outside, as everywhere in the domain."""

    def __init__(self, now: datetime) -> None:
        self._now, self._began = now, time.monotonic()

    @property
    def now(self) -> datetime:
        """The moment at which the step began plus what it took."""
        return self._now + timedelta(seconds=time.monotonic() - self._began)

    @property
    def has_run_out(self) -> bool:
        """Whether a look should end."""
        return time.monotonic() - self._began > LONGEST_LOOK_SECONDS
