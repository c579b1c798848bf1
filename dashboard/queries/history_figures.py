"""The figures of jobs that have ended: counts of each facet, and sums over time, from rows that are kept as sums.

Whole months come from the sums of months, the days around them from the figures of their jobs, so any range is exact.
A range of at most MAX_DAYS is read from days alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any

from django.contrib.auth.models import User
from django.db.models import CharField, F, IntegerField, Min, OuterRef, Q, QuerySet, Subquery, Sum, Value

from dashboard.access import teams_of
from dashboard.queries.history_filters import FACETS, NO_ACCELERATOR, HistoryFilters
from jobs.models import JobFigures, MonthFigures, Team
from jobs.states import FAILURES, SUCCESSFUL
from jobs.strategies import STRATEGIES
from jobs.timeline import NEVER_RAN

MAX_DAYS = 100
"""Longer ranges are summed by month."""
MAX_SINGLE_DAYS = 31
"""Longer ranges are drawn by week."""
MAX_VALUES = 40
"""Values of one facet that a page lists: those with most jobs."""
PAID_FOR = ("persistent", "reservation")
"""Strategies whose machines are paid for whether or not a job uses them."""
PREEMPTIBLE = sorted(key for key, strategy in STRATEGIES.items() if strategy.preemptible)
WEEK = timedelta(days=7)


@dataclass(slots=True)
class Sums:
    """Sums over jobs. `waits`: {bucket of jobs.timeline.wait_bucket: jobs}; `spot_seconds`: of preemptible machines."""

    jobs: int = 0
    succeeded: int = 0
    failed: int = 0
    cents: int = 0
    saved_cents: int = 0
    lost_cents: int = 0
    estimated: int = 0
    inside: int = 0
    unpriced: int = 0
    preemptions: int = 0
    spot_seconds: int = 0
    costing: int = 0
    waits: Counter[int] = field(default_factory=Counter)

    def add(self, row: dict[str, Any]) -> None:
        """Add the sums of a row."""
        for name in COLUMNS:
            setattr(self, name, getattr(self, name) + (row[name] or 0))
        if row.get("bucket", NEVER_RAN) != NEVER_RAN:
            self.waits[row["bucket"]] += row["jobs"]

    @property
    def other(self) -> int:
        """Jobs that neither succeeded nor failed, such as cancelled ones."""
        return self.jobs - self.succeeded - self.failed

    @property
    def success(self) -> float | None:
        """The share of the jobs that came to an end of their own which succeeded; None where there is none."""
        ended = self.succeeded + self.failed
        return self.succeeded / ended if ended else None

    @property
    def usd(self) -> Decimal:
        """What they cost."""
        return Decimal(self.cents) / 100

    @property
    def priced(self) -> int:
        """How many ran on machines that cost something at a known price; each is counted in whole cents."""
        return max(self.costing - self.unpriced, 0)

    @property
    def saved_usd(self) -> Decimal:
        """What the same work would have cost more under Standard."""
        return Decimal(self.saved_cents) / 100

    @property
    def lost_usd(self) -> Decimal:
        """What work cost that preemptions undid."""
        return Decimal(self.lost_cents) / 100

    @property
    def held(self) -> float | None:
        """The share of the jobs with an estimate that cost what its range said; None where none succeeded."""
        return self.inside / self.estimated if self.estimated else None


PLAIN = ("jobs", "cents", "saved_cents", "lost_cents", "estimated", "inside", "unpriced", "preemptions")
COLUMNS = (*PLAIN, "succeeded", "failed", "spot_seconds", "costing")


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days, drawn as one bar; `end` is its last day."""

    start: date
    end: date
    sums: Sums
    by_strategy: dict[str, Sums]


@dataclass(frozen=True, slots=True)
class HistoryFigures:
    """What the page draws. `facets`: {facet: {value: sums}}, each without the filter of its own facet.

    `periods` are in order and without gaps; `step` is "day", "week" or "month". `since` is None where nothing ended.
    """

    total: Sums
    facets: dict[str, dict[str, Sums]]
    periods: Sequence[Period]
    step: str
    since: date | None
    until: date
    filters: HistoryFilters

    def chosen(self, facet: str) -> dict[str, Sums]:
        """Return the values of a facet that its own filter leaves."""
        wanted = self.filters.values(facet)
        return {value: sums for value, sums in self.facets[facet].items() if not wanted or value in wanted}


def get_history_figures(user: User, filters: HistoryFilters, today: date) -> HistoryFigures:
    """Return the figures of ended jobs that the filters leave, of the days up to `today`; three queries at most.

    The days of the filters are taken as those of the end. A name narrows no figures.
    """
    teams = [team.pk for team in teams_of(user)]
    until = min(filters.until or today, today)
    first = _first_day(teams)
    since = max(filters.since, first) if filters.since and first else first
    if since is None or since > until:
        return HistoryFigures(Sums(), {facet: {} for facet in FACETS}, (), "day", None, until, filters)
    facets = _facets(_sources(teams, since, until), filters)
    periods, step = _periods(_sources(teams, since, until), filters, since, until)
    total = Sums()
    for period in periods:
        _merge(total, period.sums)
    return HistoryFigures(total, facets, periods, step, since, until, filters)


def _first_day(teams: Sequence[int]) -> date | None:
    """Return the day on which the first job of the teams ended; None where none has."""
    of_team = JobFigures.objects.filter(team=OuterRef("pk")).order_by("ended_on").values("ended_on")[:1]
    firsts = Team.objects.filter(pk__in=teams).annotate(first=Subquery(of_team))
    first: date | None = firsts.aggregate(min=Min("first"))["min"]
    return first


def _sources(teams: Sequence[int], since: date, until: date) -> list[QuerySet[Any]]:
    """Return the rows that make up the range, each with its day or month as `at`."""
    days = JobFigures.objects.filter(team__in=teams).annotate(at=F("ended_on")).order_by()
    if (until - since).days <= MAX_DAYS:
        return [days.filter(ended_on__gte=since, ended_on__lte=until)]
    whole = since if since.day == 1 else _next_month(since)
    after = _next_month(until) if _next_month(until) - timedelta(days=1) == until else until.replace(day=1)
    months = MonthFigures.objects.filter(team__in=teams, month__gte=whole, month__lt=after)
    edges = Q(ended_on__gte=since, ended_on__lt=whole) | Q(ended_on__gte=after, ended_on__lte=until)
    return [months.annotate(at=F("month")).order_by(), days.filter(edges)]


def _facets(sources: Iterable[QuerySet[Any]], filters: HistoryFilters) -> dict[str, dict[str, Sums]]:
    """Return the sums of each value of each facet; one query."""
    parts = [
        _sums(source.filter(filters.without(facet).of_figures), facet=Value(facet, CharField()), value=F(column))
        for source in sources
        for facet, column in FACETS.items()
    ]
    found: dict[str, dict[str, Sums]] = {facet: {} for facet in FACETS}
    for row in _union(parts):
        value = NO_ACCELERATOR if row["facet"] == "accelerator" and not row["value"] else row["value"]
        found[row["facet"]].setdefault(value, Sums()).add(row)
    return {facet: _most(values) for facet, values in found.items()}


def _most(values: dict[str, Sums]) -> dict[str, Sums]:
    ordered = sorted(values.items(), key=lambda item: (-item[1].jobs, item[0]))
    return {value: sums for value, sums in ordered[:MAX_VALUES] if sums.jobs}


def _periods(
    sources: Iterable[QuerySet[Any]], filters: HistoryFilters, since: date, until: date
) -> tuple[list[Period], str]:
    """Return the bars of the range, and how long each is; one query."""
    length = (until - since).days
    step = "day" if length < MAX_SINGLE_DAYS else "week" if length <= MAX_DAYS else "month"
    parts = [_sums(source.filter(filters.of_figures), value=F("strategy"), when=F("at")) for source in sources]
    periods = [Period(start, end, Sums(), {}) for start, end in _stretches(since, until, step)]
    rows = sorted(_union(parts), key=lambda row: row["when"])
    place = 0
    for row in rows:
        while place < len(periods) - 1 and row["when"] > periods[place].end:
            place += 1
        periods[place].sums.add(row)
        periods[place].by_strategy.setdefault(row["value"], Sums()).add(row)
    return periods, step


def _stretches(since: date, until: date, step: str) -> Iterator[tuple[date, date]]:
    """Yield the first and last day of each bar. Weeks begin on Mondays."""
    start = since
    while start <= until:
        after = {
            "day": start + timedelta(days=1),
            "week": start - timedelta(days=start.weekday()) + WEEK,
            "month": _next_month(start),
        }[step]
        yield start, min(after - timedelta(days=1), until)
        start = after


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _sums(rows: QuerySet[Any], **keys: Any) -> QuerySet[Any]:
    """Group rows by keys and by how long the jobs waited."""
    grouped = rows.annotate(**keys, bucket=F("wait_bucket")).values(*keys, "bucket")
    summed: QuerySet[Any] = grouped.annotate(
        succeeded=Sum("jobs", filter=Q(outcome__in=sorted(SUCCESSFUL)), default=0, output_field=IntegerField()),
        failed=Sum("jobs", filter=Q(outcome__in=sorted(FAILURES)), default=0, output_field=IntegerField()),
        spot_seconds=Sum("seconds", filter=Q(strategy__in=PREEMPTIBLE), default=0),
        costing=Sum("jobs", filter=Q(seconds__gt=0) & ~Q(strategy__in=PAID_FOR), default=0),
        **{f"sum_{name}": Sum(name) for name in PLAIN},
    )
    return summed


def _union(parts: Sequence[QuerySet[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of all parts under the names of `Sums`."""
    for row in reduce(lambda one, other: one.union(other, all=True), parts):
        yield {name.removeprefix("sum_"): value for name, value in row.items()}


def _merge(total: Sums, sums: Sums) -> None:
    for name in COLUMNS:
        setattr(total, name, getattr(total, name) + getattr(sums, name))
    total.waits.update(sums.waits)
