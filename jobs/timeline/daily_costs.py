"""The cost of a job on each day, so that a job that runs across the end of a month counts in both months."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from jobs.cost.actual import accrued
from jobs.cost.money import CENT
from jobs.models import Job, JobEvent, Trial
from jobs.timeline.spans import billable, state_spans
from jobs.timeline.trial_time import cost_since, cost_so_far

DAY = timedelta(days=1)
MAX_DAYS = 400
"""Number of days. Earlier costs count on the first of them."""
MAX_CENTS = 10**14
"""Limit of a job's cost, so that sums fit their columns whatever was requested."""


def to_cents(usd: Decimal) -> int:
    """Return the amount in whole cents, limited to MAX_CENTS in both directions."""
    return max(-MAX_CENTS, min(int((usd / CENT).to_integral_value()), MAX_CENTS))


def days_of(job: Job, now: datetime) -> list[date]:
    """Return the days (UTC) on which the job may have run by `now`, at least one and at most MAX_DAYS."""
    until = (job.ended_at or now).astimezone(UTC).date()
    since = until if job.started_at is None else min(job.started_at.astimezone(UTC).date(), until)
    count = min((until - since).days + 1, MAX_DAYS)
    return [until - DAY * back for back in reversed(range(count))]


def cents_by_day(job: Job, changes: Sequence[JobEvent], trials: Sequence[Trial], now: datetime) -> dict[date, int]:
    """Return {day: US cents} of the job's cost until `now`. The sum is `cost_so_far`; {} if that is unknown.

    `changes` are the job's state events in the order recorded. `trials` are the trials of a tuning job. Both are needed
    only for a job that ran on several days.
    """
    usd = cost_so_far(job, min(now, job.ended_at or now))
    total = 0 if usd is None else to_cents(usd)
    if usd is None or total <= 0:
        return {}
    days, found, before = days_of(job, now), dict[date, int](), 0
    for day in days[:-1]:
        midnight = datetime.combine(day + DAY, time(), UTC)
        cost = _cost_until(job, changes, trials, midnight, now, usd)
        until = min(max(to_cents(cost), before), total)
        found[day], before = until - before, until
    found[days[-1]] = total - before
    return {day: cents for day, cents in found.items() if cents}


def _cost_until(
    job: Job, changes: Sequence[JobEvent], trials: Sequence[Trial], at: datetime, now: datetime, usd: Decimal
) -> Decimal:
    if job.trial_seconds is not None:
        return usd - (cost_since(job, trials, at, now) or Decimal(0))
    spans = billable(state_spans(changes))
    ran = sum((max(min(span.end or now, at) - span.start, timedelta()) for span in spans), timedelta())
    return accrued(job.hourly_usd, ran) or Decimal(0)
