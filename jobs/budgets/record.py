"""Update the sums of spending: what jobs have cost by day, and what they may still cost.

The row of a job stores what it has added to every sum. Recording a job again adds only the difference, so a step that
was interrupted or repeated does no harm.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from jobs import timeline
from jobs.budgets.groups import ALL, groups_of_job, month_of
from jobs.models import Committed, DaySpend, Dimension, Job, JobEvent, JobSpend, MonthSpend, ResourceSpend, Trial
from jobs.states import JobState

Spent = JobSpend | ResourceSpend
"""Rows that store what they have added to the sums."""
Sums = dict[tuple[Any, ...], Counter[str]]
"""Key columns of a row, and what is added to its sums."""
MODELS: dict[Any, tuple[str, ...]] = {
    Committed: ("team_id", "dimension", "value"),
    MonthSpend: ("team_id", "month", "dimension", "value"),
    DaySpend: ("team_id", "day", "strategy"),
}
"""The models of sums, in locking order, with the key columns of their rows."""
ROWS_AT_ONCE = 100
"""Rows in one query; databases limit the length of a condition."""
UPDATED = ["team", "groups", "days", "committed_cents", "is_open", "recorded_at"]


def record_spend(jobs: Sequence[Job], now: datetime) -> None:
    """Record jobs whose rows the caller has locked or written in its transaction.

    The caller has locked their teams before. This takes at most four queries and those of the sums. Sums are locked in
    this order: commitments, months, days; each by team and group.
    """
    before = JobSpend.objects.in_bulk([job.pk for job in jobs])
    changes, trials = _list_changes(jobs, now), _list_trials(jobs, now)
    after = [_spend_of(job, changes.get(job.pk, ()), trials.get(job.pk, ()), now) for job in jobs]
    JobSpend.objects.bulk_create(after, update_conflicts=True, unique_fields=["job"], update_fields=UPDATED)
    for model, sums in sums_of(before.values(), after).items():
        add_sums(model, sums)


def sums_of(before: Iterable[Spent], after: Iterable[Spent]) -> dict[Any, Sums]:
    """Return the change of each model's sums when the rows `before` become `after`."""
    return {model: count(before, after) for model, count in zip(MODELS, (_commitments, _months, _days), strict=True)}


def _list_changes(jobs: Sequence[Job], now: datetime) -> dict[UUID, list[JobEvent]]:
    """Return the state events of the jobs that ran on more than one day."""
    long = [job.pk for job in jobs if job.trial_seconds is None and len(timeline.days_of(job, now)) > 1]
    found: dict[UUID, list[JobEvent]] = {pk: [] for pk in long}
    events = JobEvent.objects.filter(job__in=long, kind__in=timeline.SPAN_KINDS).defer("message")
    for event in events.order_by("job", "id") if long else ():
        found[event.job_id].append(event)
    return found


def _list_trials(jobs: Sequence[Job], now: datetime) -> dict[UUID, list[Trial]]:
    long = [job.pk for job in jobs if job.trial_seconds is not None and len(timeline.days_of(job, now)) > 1]
    found: dict[UUID, list[Trial]] = {pk: [] for pk in long}
    for trial in Trial.objects.filter(job__in=long) if long else ():
        found[trial.job_id].append(trial)
    return found


def _spend_of(job: Job, changes: Sequence[JobEvent], trials: Sequence[Trial], now: datetime) -> JobSpend:
    days = timeline.cents_by_day(job, changes, trials, now)
    is_allowed = not job.is_finished and job.state != JobState.AWAITING_APPROVAL and job.max_usd is not None
    return JobSpend(
        job=job,
        team_id=job.team_id,
        groups=groups_of_job(job),
        days={day.isoformat(): cents for day, cents in days.items()},
        committed_cents=max(0, int((job.max_usd or 0) * 100) - sum(days.values())) if is_allowed else 0,
        is_open=not job.is_finished,
        recorded_at=now,
    )


def _signed(before: Iterable[Spent], after: Iterable[Spent]) -> Iterable[tuple[int, Spent]]:
    yield from ((-1, row) for row in before)
    yield from ((1, row) for row in after)


def _commitments(before: Iterable[Spent], after: Iterable[Spent]) -> Sums:
    sums: Sums = {}
    for sign, row in _signed(before, after):
        for dimension, value in row.groups:
            sums.setdefault((row.team_id, dimension, value), Counter())["cents"] += sign * row.committed_cents
    return sums


def _months(before: Iterable[Spent], after: Iterable[Spent]) -> Sums:
    sums: Sums = {}
    for sign, row in _signed(before, after):
        for groups, days in row.parts:
            for month, cents in _by_month(days).items():
                for dimension, value in groups:
                    counted = sums.setdefault((row.team_id, month, dimension, value), Counter())
                    counted["cents"] += sign * cents
                    counted["jobs"] += sign * row.jobs
    return sums


def cents_by_month(row: Spent) -> Counter[date]:
    """Return {first day of a month: US cents} for the cost of a job or a persistent resource."""
    return _by_month(row.days)


def _by_month(days: Mapping[str, int]) -> Counter[date]:
    months: Counter[date] = Counter()
    for day, cents in days.items():
        months[month_of(date.fromisoformat(day))] += cents
    return months


def _days(before: Iterable[Spent], after: Iterable[Spent]) -> Sums:
    sums: Sums = {}
    for sign, row in _signed(before, after):
        strategy = next((value for dimension, value in row.groups if dimension == Dimension.STRATEGY), "")
        for day, cents in row.days.items():
            sums.setdefault((row.team_id, date.fromisoformat(day), strategy), Counter())["cents"] += sign * cents
    return sums


def add_sums(model: Any, sums: Sums) -> None:
    """Add to rows, creating missing ones; rows with the same addition share a query.

    The caller has locked their teams (`lock_teams`), so two callers cannot deadlock.
    """
    names = MODELS[model]
    changed = [
        (dict(zip(names, key, strict=True)), added) for key, added in sorted(sums.items()) if any(added.values())
    ]
    model.objects.bulk_create([model(**row) for row, _ in changed], ignore_conflicts=True)
    alike: dict[tuple[tuple[str, int], ...], list[Q]] = {}
    for row, added in changed:
        alike.setdefault(tuple(sorted(added.items())), []).append(Q(**row))
    for amounts, rows in alike.items():
        columns = {name: F(name) + value for name, value in amounts if value}
        for start in range(0, len(rows), ROWS_AT_ONCE):
            model.objects.filter(reduce(or_, rows[start : start + ROWS_AT_ONCE])).update(**columns)


def lock_teams(team_ids: Iterable[int]) -> None:
    """Lock the commitments of teams until the transaction ends; call it before locking any row of a job.

    Everything that records spending takes this lock, so what is left of a budget cannot change after it was read.
    """
    dimension, value = ALL
    for team_id in sorted(set(team_ids)):
        held = Committed.objects.select_for_update().filter(team=team_id, dimension=dimension, value=value)
        if not held:
            row = Committed(team_id=team_id, dimension=dimension, value=value)
            Committed.objects.bulk_create([row], ignore_conflicts=True)
            held.get()
