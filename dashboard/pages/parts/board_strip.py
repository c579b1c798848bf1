"""The figures above the board: jobs that need the viewer, wait, run or failed, and the hourly cost."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from dashboard.drawing.marks import chips
from dashboard.pages.parts.board_rows import FAILED, Viewer, expected_end, needs
from dashboard.queries.board import MAX_JOBS
from jobs import timeline
from jobs.catalog import count_accelerators
from jobs.models import Job
from jobs.states import RUNNING, WAITING, JobState


@dataclass(frozen=True, slots=True)
class Strip:
    """The figures above the board. They cover all jobs of the selected teams, whatever the search."""

    is_cut: bool
    """Whether there may be more jobs than were loaded."""
    needing: int
    oldest: timedelta | None
    """Longest time that a job has needed the viewer."""
    to_decide_usd: Decimal
    waiting: int
    longest: timedelta | None
    running: int
    chips: str
    next_end: timedelta | None
    """Shortest time until a job is expected to end."""
    failed: int
    last_failed: Job | None
    per_hour: Decimal


def strip_of(jobs: Sequence[Job], viewer: Viewer, reruns: frozenset[UUID], now: datetime) -> Strip:
    """Return the figures of these jobs."""
    needing = [job for job in jobs if needs(job, viewer, reruns)]
    waiting = [job for job in jobs if job.state in WAITING]
    running = [job for job in jobs if job.state in RUNNING]
    failed = [job for job in jobs if job.state in FAILED]
    return Strip(
        is_cut=len(jobs) >= MAX_JOBS,
        needing=len(needing),
        oldest=max((now - job.state_since for job in needing), default=None),
        to_decide_usd=sum((job.max_usd or Decimal(0) for job in needing if viewer.may_decide(job)), Decimal(0)),
        waiting=len(waiting),
        longest=max((timeline.waited(job, now) for job in waiting), default=None),
        running=len(running),
        chips=chips(sum((count_accelerators(job.machines) for job in running), Counter())),
        next_end=min((end - now for job in running if (end := expected_end(job, now))), default=None),
        failed=len(failed),
        last_failed=max(failed, key=lambda job: job.ended_at or job.state_since, default=None),
        per_hour=sum((job.hourly_usd or Decimal(0) for job in running if job.state != JobState.CANCELLING), Decimal(0)),
    )
