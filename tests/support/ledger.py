"""What the ledger holds, read in the plainest way, for comparison with what pages, budgets and sums say."""

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from jobs import timeline
from jobs.budget import BudgetLeft
from jobs.budgets import left_of, load_committed, load_for, period_of, with_spent
from jobs.clock import database_now
from jobs.cost import from_micros, to_micros
from jobs.models import Budget, CostEntry, Job, SpendSum, Team


def committed(team: Team, dimension: str = "", value: str = "", *, now: datetime | None = None) -> Decimal:
    """Return the US dollars that are committed for a group of a team."""
    found = load_committed([team.pk], now or database_now(), with_labels=True)
    return from_micros(found[team.pk, (dimension, value)])


def list_left(now: datetime) -> list[tuple[Budget, BudgetLeft]]:
    """Return every budget with what is left of it by the ledger, those of whole teams first."""
    rows = list(with_spent(Budget.objects.all(), now))
    committed = load_for(rows, now)
    return [(row, left_of(row, committed, now)) for row in rows]


def spent(team: Team, month: date, dimension: str = "", value: object = "") -> Decimal:
    """Return the US dollars in the kept sum of a month."""
    rows = SpendSum.objects.filter(team=team, period=period_of(month), dimension=dimension, value=str(value))
    return from_micros(sum(rows.values_list("micros", flat=True)))


def idle_by_day(team: Team) -> dict[str, Decimal]:
    """Return the US dollars of idle persistent resources on each day."""
    found: Counter[str] = Counter()
    for day, micros in CostEntry.objects.filter(team=team, kind="idle").values_list("day", "micros"):
        found[day.isoformat()] += micros
    return {day: from_micros(micros) for day, micros in found.items() if micros}


def kept_sums() -> dict[Any, tuple[int, int]]:
    """Return {team, period, dimension, value: micro-dollars and jobs} of the kept sums that are not zero."""
    rows = SpendSum.objects.values_list("team", "period", "dimension", "value", "micros", "jobs")
    return {tuple(key): (micros, jobs) for *key, micros, jobs in rows if micros or jobs}


def sums_of_entries() -> dict[Any, tuple[int, int]]:
    """Return what `kept_sums` has to return, counted from the entries one by one."""
    micros: Counter[Any] = Counter()
    of_job: Counter[Any] = Counter()
    for entry in CostEntry.objects.all():
        for dimension, value in entry.groups:
            key = (entry.team_id, entry.day.isoformat()[:7], dimension, value)
            micros[key] += entry.micros
            if entry.kind == "run":
                of_job[key, entry.job_id] += entry.micros
            if dimension == "strategy":
                micros[entry.team_id, entry.day.isoformat(), dimension, value] += entry.micros
    jobs = Counter(key for (key, _job), amount in of_job.items() if amount)
    return {key: (micros[key], jobs[key]) for key in {**micros, **jobs} if micros[key] or jobs[key]}


def check_ledger(now: datetime) -> None:
    """Check that the sums are those of the entries, and those of each job its cost, to the micro-dollar."""
    assert kept_sums() == sums_of_entries()
    for job in Job.objects.exclude(cost_until=None):
        entries = CostEntry.objects.filter(job=job, kind="run").values_list("micros", flat=True)
        assert sum(entries) == (job.cost_micros or 0), job
        if job.is_counted:
            assert sum(entries) == to_micros(timeline.compute_cost(job, now) or Decimal(0)), job
