"""What jobs have cost since a moment: billable time from their events times their hourly price."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from dashboard.queries.jobs import list_state_changes
from jobs import timeline
from jobs.cost.actual import accrued
from jobs.models import Job, JobEvent, Trial
from jobs.states import JobState

COLUMNS = (
    "state", "hourly_usd", "started_at", "ended_at", "running_seconds", "running_since",
    "parallel_trials", "trial_seconds", "trials_running", "trials_counted_at", "custom_job_state",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spending:
    """US dollars, and how many jobs are missing from them because no price is known."""

    usd: Decimal
    unpriced: int


def sum_spending(
    jobs: Iterable[Job], since: datetime, now: datetime, changes: Mapping[UUID, Sequence[JobEvent]] | None = None
) -> Spending:
    """Return what jobs with COLUMNS cost between `since` and `now`, where they ran; two queries at most.

    `changes`: the changes of state since then of those that `began_before`, where they were read already.
    """
    rows = [job for job in jobs if job.started_at is not None]
    earlier = began_before(rows, since)
    if changes is None:
        changes = list_state_changes(earlier, since) if earlier else {}
    trials = _list_trials(job for job in earlier if job.trial_seconds is not None)
    costs = [_cost_since(job, changes.get(job.pk), trials.get(job.pk, ()), since, now) for job in rows]
    return Spending(sum((cost for cost in costs if cost is not None), Decimal(0)), costs.count(None))


def began_before(jobs: Iterable[Job], moment: datetime) -> list[Job]:
    """Return the jobs that first ran before a moment: what they cost since then needs their events."""
    return [job for job in jobs if job.started_at is not None and job.started_at < moment]


def _list_trials(jobs: Iterable[Job]) -> dict[UUID, list[Trial]]:
    """Return the trials of each tuning job with the columns that tell when their machines ran; one query at most."""
    trials: dict[UUID, list[Trial]] = {job.pk: [] for job in jobs}
    columns = ("job_id", "state", "started_at", "ended_at", "job_states")
    for trial in Trial.objects.filter(job__in=list(trials)).only(*columns) if trials else ():
        trials[trial.job_id].append(trial)
    return trials


def _cost_since(
    job: Job, changes: Sequence[JobEvent] | None, trials: Sequence[Trial], since: datetime, now: datetime
) -> Decimal | None:
    if job.trial_seconds is None:
        return accrued(job.hourly_usd, _billable_time(job, changes, since, now))
    return timeline.cost_so_far(job, now) if changes is None else timeline.cost_since(job, trials, since, now)


def _billable_time(job: Job, changes: Sequence[JobEvent] | None, since: datetime, now: datetime) -> timedelta:
    """Return the billable time at or after `since`.

    1. A job that first ran after `since` (`changes` is None) has its whole time in its columns.
    2. Any other is followed from its state at `since` through its changes; cancelling counts after running.
    """
    if changes is None:
        return timeline.running(job, now)
    state = JobState.RUNNING if job.running_since is not None else job.state
    state = next((change.from_state for change in changes if change.kind == JobEvent.Kind.STATE), state)
    spans = timeline.state_spans(changes, timeline.Before(since, state, job.custom_job_state))
    return sum((span.length(now) for span in timeline.billable(spans)), timedelta())
