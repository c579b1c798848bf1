"""Write the ledger: add entries for what a job or a persistent resource costs beyond its entries so far.

A step that was interrupted or repeated adds nothing, and what is learned late adds the difference.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple, TypeVar
from uuid import UUID

from django.db.models import QuerySet, Sum

from jobs import timeline
from jobs.budgets.groups import Group, groups_of_job, month_of
from jobs.models import CostEntry, Dimension, Job, JobEvent, SpendSum, Team, Trial

RUN = CostEntry.Kind.RUN.value
PORTION = 500
Row = TypeVar("Row", JobEvent, Trial)


class Line(NamedTuple):
    """What entries that are summed have in common; the columns of CostEntry."""

    team_id: int
    project: str
    job_id: UUID | None
    resource: str
    kind: str
    day: date
    groups: tuple[Group, ...]
    usd_per_hour: Decimal | None = None
    price: str = ""


Lines = Mapping[Line, int]
"""Micro-dollars by line."""
SumKey = tuple[int, str, str, str]
"""Team, period, dimension and value of a SpendSum."""


def period_of(day: date, *, is_month: bool = True) -> str:
    """Return the period of a SpendSum: the month of a day, or the day."""
    return f"{day:%Y-%m}" if is_month else day.isoformat()


def record_costs(jobs: Sequence[Job], now: datetime) -> None:
    """Bring the entries of jobs up to `now`, or to their end. The caller has locked their teams, then their rows."""
    long = [job for job in jobs if len(timeline.days_of(job, now)) > 1]
    states = JobEvent.objects.filter(kind__in=timeline.SPAN_KINDS).defer("message").order_by("job", "id")
    changes = _by_job(states, [job.pk for job in long if job.trial_seconds is None])
    trials = _by_job(Trial.objects.all(), [job.pk for job in long if job.trial_seconds is not None])
    wanted: dict[Line, int] = {}
    for job in jobs:
        days = timeline.micros_by_day(job, changes[job.pk], trials[job.pk], now)
        groups, price = tuple(groups_of_job(job)), str((job.price_snapshot or {}).get("at") or "")[:40]
        for day, micros in (days or {}).items():
            wanted[Line(job.team_id, job.project, job.pk, "", RUN, day, groups, job.hourly_usd, price)] = micros
        job.cost_micros, job.cost_until = None if days is None else sum(days.values()), now
    keys = [job.pk for job in jobs]
    write(load_lines(CostEntry.objects.filter(job__in=keys, kind=RUN)), wanted, now)
    Job.objects.bulk_update(jobs, ["cost_micros", "cost_until"])


def load_lines(entries: QuerySet[CostEntry]) -> dict[Line, int]:
    """Return the sums of these entries by line."""
    rows = entries.order_by().values_list(*Line._fields).annotate(sum=Sum("micros"))
    found = ((Line(*columns), micros) for *columns, micros in rows)
    return {line._replace(groups=tuple((name, value) for name, value in line.groups)): sum_ for line, sum_ in found}


def write(before: Lines, after: Lines, now: datetime) -> None:
    """Add the entries that make the lines `before` those `after`, and add them to the sums.

    The caller has locked the teams of the lines.
    """
    changes = {line: after.get(line, 0) - before.get(line, 0) for line in {**before, **after}}
    changes = {line: micros for line, micros in changes.items() if micros}
    if not changes:
        return
    entries = (CostEntry(**line._asdict(), micros=micros, recorded_at=now) for line, micros in changes.items())
    CostEntry.objects.bulk_create(entries, batch_size=PORTION)
    micros_of, jobs_of = Counter[SumKey](), Counter[SumKey]()
    for line, micros in changes.items():
        for key in _keys(line):
            micros_of[key] += micros
        for dimension, value in line.groups:
            if dimension == Dimension.STRATEGY:
                micros_of[line.team_id, period_of(line.day, is_month=False), dimension, value] += micros
    for sign, lines in ((-1, before), (1, after)):
        for key, _job in _costing(lines):
            jobs_of[key] += sign
    _add_sums(micros_of, jobs_of)


def _keys(line: Line) -> list[SumKey]:
    return [(line.team_id, period_of(line.day), *group) for group in line.groups]


def _costing(lines: Lines) -> set[tuple[SumKey, UUID | None]]:
    """Return the months and groups in which machines of a job cost something, each with the job."""
    sums: Counter[tuple[SumKey, UUID | None]] = Counter()
    for line, micros in lines.items():
        if line.kind == RUN:
            for key in _keys(line):
                sums[key, line.job_id] += micros
    return {key for key, micros in sums.items() if micros}


def _add_sums(micros: Counter[SumKey], jobs: Counter[SumKey]) -> None:
    """Add to the sums. As their teams are locked, nobody else writes them meanwhile."""
    names = ("team_id", "period", "dimension", "value")
    changed = sorted(key for key in {**micros, **jobs} if micros[key] or jobs[key])
    filters = {f"{name}__in": {key[at] for key in changed} for at, name in enumerate(names)}
    kept = {tuple(getattr(row, name) for name in names): row for row in SpendSum.objects.filter(**filters)}
    rows = []
    for key in changed:
        row = kept.get(key) or SpendSum(**dict(zip(names, key, strict=True)))
        row.micros, row.jobs = row.micros + micros[key], row.jobs + jobs[key]
        rows.append(row)
    SpendSum.objects.bulk_create([row for row in rows if row.pk is None], batch_size=PORTION)
    SpendSum.objects.bulk_update([row for row in rows if row.pk is not None], ["micros", "jobs"], batch_size=PORTION)


def micros_by_month(jobs: Iterable[UUID], team_id: int) -> dict[UUID, Counter[date]]:
    """Return {job: {first day of a month: micro-dollars}} of those of the jobs that have entries in the team."""
    found: dict[UUID, Counter[date]] = {}
    entries = CostEntry.objects.filter(job__in=jobs, team=team_id, kind=RUN)
    for job, day, micros in entries.values_list("job", "day").annotate(sum=Sum("micros")):
        found.setdefault(job, Counter())[month_of(day)] += micros
    return found


def _by_job(rows: QuerySet[Row], keys: Collection[UUID]) -> defaultdict[UUID, list[Row]]:
    """Return the rows of these jobs, by job. One query, none without jobs."""
    found: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in rows.filter(job__in=keys) if keys else ():
        found[row.job_id].append(row)
    return found


def lock_teams(team_ids: Iterable[int]) -> None:
    """Lock teams until the transaction ends; call it before locking any row of a job.

    Whoever allows something that costs, or writes the ledger, takes this lock. So what is left of a budget cannot
    become less between reading it and using it.
    """
    rows = Team.objects.select_for_update(no_key=True).filter(pk__in=set(team_ids))
    list(rows.order_by("pk").values_list("pk", flat=True))
