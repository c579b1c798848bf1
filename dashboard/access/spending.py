"""What jobs have cost since a moment: billable time from their events times their hourly price."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Q, QuerySet

from dashboard.access.jobs import moves_since
from jobs import timeline
from jobs.cost.actual import accrued
from jobs.models import Job, JobEvent
from jobs.states import FINISHED, JobState


@dataclass(frozen=True, slots=True)
class Spent:
    """US dollars, and how many jobs are missing from them because no price is known."""

    usd: Decimal
    unpriced: int


def spent_since(jobs: QuerySet[Job], since: datetime, now: datetime) -> Spent:
    """Return what `jobs` cost between `since` and `now`; two queries."""
    active = jobs.filter(started_at__isnull=False).filter(Q(ended_at=None) | Q(ended_at__gte=since))
    rows = list(active.select_related(None).only(*COLUMNS).order_by("pk"))
    earlier = [job for job in rows if job.started_at and job.started_at < since]
    moves = moves_since(earlier, since) if earlier else {}
    costs = [accrued(job.hourly_usd, working_time(job, moves.get(job.pk), since, now)) for job in rows]
    return Spent(sum((cost for cost in costs if cost is not None), Decimal(0)), costs.count(None))


COLUMNS = ("state", "hourly_usd", "started_at", "ended_at", "running_seconds", "running_since")


def working_time(job: Job, moves: Sequence[JobEvent] | None, since: datetime, now: datetime) -> timedelta:
    """Return the billable time at or after `since`.

    1. A job that first ran after `since` (`moves` is None) has its whole time in its columns.
    2. Any other is followed from its state at `since` through its moves; cancelling counts after running.
    """
    if moves is None:
        return timeline.running(job, now)
    working = job.running_since is not None if not moves else moves[0].from_state in timeline.BILLABLE
    total, at = timedelta(), since
    for move in moves:
        if working:
            total += max(move.occurred_at - at, timedelta())
        working = move.to_state in timeline.BILLABLE or (working and move.to_state == JobState.CANCELLING)
        at = max(at, move.occurred_at)
    if working and job.state not in FINISHED:
        total += max(now - at, timedelta())
    return total


def cost_so_far(job: Job, now: datetime) -> Decimal | None:
    """Return what the job has cost so far; None when its price is not known and it has run."""
    return accrued(job.hourly_usd, timeline.running(job, now))
