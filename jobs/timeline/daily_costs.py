"""The cost of a job on each day, so that a job that runs across the end of a month counts in both months."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from jobs.cost.actual import accrued
from jobs.cost.money import to_micros
from jobs.models import Job, JobEvent, Trial
from jobs.timeline.spans import billable, state_spans
from jobs.timeline.trial_time import compute_cost, cost_since

DAY = timedelta(days=1)
MAX_DAYS = 400
"""Number of days. Earlier costs count on the first of them."""


def days_of(job: Job, now: datetime) -> list[date]:
    """Return the days (UTC) on which the job may have run by `now`, at least one and at most MAX_DAYS."""
    until = (job.ended_at or now).astimezone(UTC).date()
    since = until if job.started_at is None else min(job.started_at.astimezone(UTC).date(), until)
    count = min((until - since).days + 1, MAX_DAYS)
    return [until - DAY * back for back in reversed(range(count))]


def micros_by_day(
    job: Job, changes: Sequence[JobEvent], trials: Sequence[Trial], now: datetime
) -> dict[date, int] | None:
    """Return {day: micro-dollars} of the job's cost until `now`, None if its price is not known.

    The sum is that of `compute_cost`, rounded once. `changes` are the job's state events in the order recorded,
    `trials` the trials of a tuning job. Both are needed only for a job that ran on several days.
    """
    usd = compute_cost(job, min(now, job.ended_at or now))
    if usd is None:
        return None
    total, days = to_micros(usd), days_of(job, now)
    found, before = dict[date, int](), 0
    for day in days[:-1] if total > 0 else ():
        midnight = datetime.combine(day + DAY, time(), UTC)
        until = min(max(to_micros(_cost_until(job, changes, trials, midnight, now, usd)), before), total)
        found[day], before = until - before, until
    found[days[-1]] = total - before
    return {day: micros for day, micros in found.items() if micros > 0}


def _cost_until(
    job: Job, changes: Sequence[JobEvent], trials: Sequence[Trial], at: datetime, now: datetime, usd: Decimal
) -> Decimal:
    if job.trial_seconds is not None:
        return usd - (cost_since(job, trials, at, now) or Decimal(0))
    spans = billable(state_spans(changes))
    ran = sum((max(min(span.end or now, at) - span.start, timedelta()) for span in spans), timedelta())
    return accrued(job.hourly_usd, ran) or Decimal(0)
