"""The runs of a family: what they are together, in pages in any order, filtered by any setting or metric.

Conditions and orders are computed by the database from small rows (`RunSummary`), so that a page of thousands of runs
reads only the jobs that it shows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from os.path import commonprefix
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, F, Max, Min, Q, Sum
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KeyTransform

from dashboard.access import jobs_of
from jobs.cost import from_micros
from jobs.metrics import importance
from jobs.models import Job, JobEvent
from jobs.models.job import JobQuerySet
from jobs.states import SUCCESSFUL, JobState
from jobs.timeline.results import is_lower_better

PAGE_SIZE = 30
MAX_PAGES = 330
"""Pages of a family: an order by a metric has no cursor, so it is reached by counting."""
MAX_READ = 500
"""The newest runs whose settings decide which columns a table has."""
MAX_COLUMNS = 8
"""Columns of settings that a table shows; every other one can be chosen for the order and the filter."""
MIN_NAME_LENGTH = 3
"""Characters that all names have to begin with, so that the family is called that."""
NEWEST = "requested"
COLUMNS = {
    NEWEST: "requested_at", "name": "display_name", "state": "state", "cost": "cost_micros", "ran": "running_seconds",
    "restarts": "restarts", "strategy": "strategy", "machines": "machines",
}  # fmt: skip
"""Columns of the job by which runs are ordered, by their names in the address."""
BEST_OF = "metric:"
"""Begins the name of a metric where a column is chosen; a setting begins with SETTING."""
SETTING = "set:"
SIGNS = {"is": "", "from": "__gte", "to": "__lte"}
NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?")
UNREADABLE = re.compile(r'["\\]')
"""Names with these characters are no columns: a path in JSON of SQLite cannot hold them."""
LOADED = ("owner", "team", "last_seen", "approval__decided_by", "attempt__fallback", "run_summary")


@dataclass(frozen=True, slots=True)
class Totals:
    """All runs of a family together. `cost` is in USD, None if no run has a known cost."""

    runs: int
    unfinished: int
    succeeded: int
    cost: Decimal | None
    since: datetime
    newest_at: datetime
    people: int

    @property
    def others(self) -> int:
        """Runs that ended without success."""
        return self.runs - self.unfinished - self.succeeded


@dataclass(frozen=True, slots=True)
class Known:
    """The settings and metrics of the newest MAX_READ runs: those that differ, all of them, and the metrics."""

    differing: Sequence[str] = ()
    settings: Sequence[str] = ()
    metrics: Sequence[str] = ()
    latest: Sequence[UUID] = ()
    """The ids of the newest runs, the newest first."""
    name: str = ""
    """What the names of these runs begin with, or the name of the newest."""

    @property
    def columns(self) -> list[str]:
        """The names of every column by which runs can be ordered and filtered."""
        settings, metrics = (
            (f"{SETTING}{name}" for name in self.settings),
            (f"{BEST_OF}{name}" for name in self.metrics),
        )
        return [*COLUMNS, *metrics, *settings]


@dataclass(frozen=True, slots=True)
class Look:
    """Which runs are shown in which order: `column` is one of `Known.columns`, and so is that of the filter."""

    column: str = NEWEST
    is_descending: bool = True
    where: str = ""
    sign: str = "is"
    value: str = ""


def family_jobs(user: User, family: UUID) -> JobQuerySet:
    """Select the runs of a family that `user` may see."""
    return jobs_of(user).filter(family=family)


def get_totals(user: User, family: UUID) -> Totals | None:
    """Return the totals of a family, None if the person sees no run of it. One query."""
    rows = family_jobs(user, family).order_by().select_related(None)
    found = rows.aggregate(
        runs=Count("pk"), unfinished=Count("pk", filter=Q(ended_at=None)),
        succeeded=Count("pk", filter=Q(state__in=[*SUCCESSFUL])), micros=Sum("cost_micros"), since=Min("requested_at"),
        newest_at=Max("requested_at"), people=Count("owner", distinct=True),
    )  # fmt: skip
    if not found["runs"]:
        return None
    micros = found.pop("micros")
    return Totals(cost=None if micros is None else from_micros(micros), **found)


def get_known(user: User, family: UUID) -> Known:
    """Return the settings and metrics of the newest runs. One query."""
    rows = family_jobs(user, family).select_related(None).order_by("-requested_at", "pk")
    values: dict[str, set[Any]] = {}
    having, metrics = Counter[str](), Counter[str]()
    latest, named = list[UUID](), list[str]()
    columns = ("pk", "display_name", "run_summary__settings", "run_summary__results")
    for pk, display_name, settings, results in rows.values_list(*columns)[:MAX_READ]:
        latest.append(pk)
        named.append(display_name)
        metrics.update(name for name in results or () if UNREADABLE.search(name) is None)
        having.update([*(settings or ())])
        for key, value in (settings or {}).items():
            values.setdefault(key, set()).add(value)
    values = {name: found for name, found in values.items() if UNREADABLE.search(name) is None}
    differing = [name for name, found in values.items() if len(found) > 1 or having[name] < len(latest)]
    differing.sort(key=lambda name: (name.startswith(("labels.", "env.")), name == "image"))  # arguments first
    names = sorted(metrics, key=lambda name: (-metrics[name], importance(name)))
    return Known(differing, sorted(values), names, latest, _name_of(named))


def _name_of(names: Sequence[str]) -> str:
    """Return what all names begin with, without the beginning of a number that ends them, or the newest name."""
    shared = commonprefix(names)  # noqa: RUF071 - characters are meant
    shared = (shared.rstrip("0123456789") if len({*names}) > 1 else shared).rstrip("-_. ")
    return shared if len(shared) >= MIN_NAME_LENGTH or not names else names[0]


def list_members(user: User, family: UUID, look: Look, page: int = 1) -> tuple[list[Job], bool]:
    """Return a page of runs with everything that a row shows, and whether more follow. One query.

    The inner query orders the ids alone, because the rows of jobs are wide.
    """
    begin = (page - 1) * PAGE_SIZE
    keys = _ordered(user, family, look).values("pk")[begin : begin + PAGE_SIZE + 1]
    rows = _ordered(user, family, look).select_related(*LOADED).filter(pk__in=keys)
    found = list[Job](rows)
    return found[:PAGE_SIZE], len(found) > PAGE_SIZE


def iterate_members(user: User, family: UUID, look: Look) -> Iterator[Job]:
    """Yield the runs in order, at most PAGE_SIZE * MAX_PAGES."""
    keys = list(_ordered(user, family, look).values_list("pk", flat=True)[: PAGE_SIZE * MAX_PAGES])
    for begin in range(0, len(keys), PAGE_SIZE):
        yield from _load(user, keys[begin : begin + PAGE_SIZE])


def get_prepared(jobs: Sequence[Job]) -> dict[UUID, datetime]:
    """Return {job: when Vertex AI first began to prepare its machines}. One query, none without jobs."""
    if not jobs:
        return {}
    events = JobEvent.objects.filter(job__in=jobs, kind=JobEvent.Kind.STATE, to_state=JobState.PENDING)
    return dict(events.values_list("job").annotate(first=Min("occurred_at")).order_by("job"))


def list_best(user: User, family: UUID, metric: str, limit: int) -> list[UUID]:
    """Return the ids of the runs with the best value of a metric, the best first. One query."""
    look = Look(BEST_OF + metric, is_descending=not is_lower_better(metric))
    rows = _ordered(user, family, look).filter(Q(sorted_by__isnull=False))
    return list(rows.values_list("pk", flat=True)[:limit])


def best_of(job: Job, metric: str) -> float | None:
    """Return the best value of a metric in a run that was loaded with its summary."""
    summary = getattr(job, "run_summary", None)
    result = summary.results.get(metric) if summary is not None else None
    return None if result is None else float(result[1 if is_lower_better(metric) else 2])


def _load(user: User, keys: Sequence[UUID]) -> list[Job]:
    if not keys:
        return []
    found = {job.pk: job for job in jobs_of(user).select_related(*LOADED).filter(pk__in=keys)}
    return [found[key] for key in keys if key in found]


def _ordered(user: User, family: UUID, look: Look) -> JobQuerySet:
    rows = family_jobs(user, family).select_related(None)
    if look.where and look.value:
        rows = rows.annotate(filtered_by=_expression(look.where)).filter(_condition(look))
    rows = rows.annotate(sorted_by=_expression(look.column))
    column = F("sorted_by")
    order = column.desc(nulls_last=True) if look.is_descending else column.asc(nulls_last=True)
    return rows.order_by(order, "-requested_at", "pk")


def _condition(look: Look) -> Q:
    value: Any = look.value
    is_number = NUMBER.fullmatch(value) is not None
    if look.where in ("state", "strategy"):
        return Q(filtered_by=value.lower().replace("-", "_").replace(" ", "_"))
    if look.where in ("name", "machines"):
        return Q(filtered_by__icontains=value)
    if look.where not in COLUMNS:
        value = float(value) if is_number else {"true": True}.get(value, value)
    elif look.where in ("cost", "ran", "restarts"):
        if not is_number:
            return Q(pk__in=[])
        value = float(value) * {"cost": 1e6, "ran": 60.0}.get(look.where, 1.0)
    elif look.where == NEWEST:
        return Q(pk__in=[])
    return Q(**{f"filtered_by{SIGNS.get(look.sign, '')}": value})


def _expression(column: str) -> Combinable:
    """Return the expression of a column: of the job, of a setting, or the best value of a metric."""
    if column.startswith(BEST_OF):
        metric = column.removeprefix(BEST_OF)
        place = "1" if is_lower_better(metric) else "2"
        return KeyTransform(place, KeyTransform(metric, "run_summary__results"))
    if column.startswith(SETTING):
        return KeyTransform(column.removeprefix(SETTING), "run_summary__settings")
    return F(COLUMNS[column])
