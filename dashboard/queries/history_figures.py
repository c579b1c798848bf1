"""The figures of jobs that have ended: counts of each facet, and sums over time, from rows that are kept as sums.

Whole months come from the sums of months, the days around them from the figures of their jobs, so any range is exact.
A range of at most MAX_DAYS is read from days alone.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.contrib.auth.models import User
from django.db.models import Min, OuterRef, Subquery

from dashboard.access import teams_of
from dashboard.queries.history_filters import FACETS, NO_ACCELERATOR, HistoryFilters
from dashboard.queries.history_sums import COLUMNS, PERIODS, Sums, list_sums
from jobs.models import JobFigures, Team

MAX_DAYS = 100
"""Longer ranges are summed by month."""
MAX_SINGLE_DAYS = 31
"""Longer ranges are drawn by week."""
MAX_VALUES = 40
"""Values of one facet that a page lists: those with most jobs."""
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days, drawn as one bar; `end` is its last day. Its sums have no waits."""

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
    """Return the figures of ended jobs that the filters leave, of the days up to `today`; two queries at most.

    The days of the filters are taken as those of the end. A name narrows no figures.
    """
    teams = [team.pk for team in teams_of(user)]
    until = min(filters.until or today, today)
    first = _first_day(teams)
    since = max(filters.since, first) if filters.since and first else first
    if since is None or since > until:
        return HistoryFigures(Sums(), {facet: {} for facet in FACETS}, (), "day", None, until, filters)
    facets: dict[str, dict[str, Sums]] = {facet: {} for facet in FACETS}
    periods, step = _periods(since, until)
    starts = [period.start for period in periods]
    for row in list_sums(teams, filters, since, until, _whole_months(since, until)):
        if row["facet"] == PERIODS:
            period = periods[max(bisect_right(starts, row["at"]) - 1, 0)]
            period.sums.add(row)
            period.by_strategy.setdefault(row["value"], Sums()).add(row)
        else:
            value = NO_ACCELERATOR if row["facet"] == "accelerator" and not row["value"] else row["value"]
            facets[row["facet"]].setdefault(value, Sums()).add(row)
    total = Sums()
    for period in periods:
        _merge(total, period.sums)
    facets = {facet: _most(values) for facet, values in facets.items()}
    return HistoryFigures(total, facets, periods, step, since, until, filters)


def _first_day(teams: Sequence[int]) -> date | None:
    """Return the day on which the first job of the teams ended; None where none has."""
    of_team = JobFigures.objects.filter(team=OuterRef("pk")).order_by("ended_on").values("ended_on")[:1]
    firsts = Team.objects.filter(pk__in=teams).annotate(first=Subquery(of_team))
    first: date | None = firsts.aggregate(min=Min("first"))["min"]
    return first


def _whole_months(since: date, until: date) -> tuple[date, date]:
    """Return the first day of the whole months of a long range and the day after them; of a short one no days."""
    if (until - since).days <= MAX_DAYS:
        return until + timedelta(days=1), until + timedelta(days=1)
    whole = since if since.day == 1 else _next_month(since)
    after = _next_month(until) if _next_month(until) - timedelta(days=1) == until else until.replace(day=1)
    return whole, after


def _most(values: dict[str, Sums]) -> dict[str, Sums]:
    ordered = sorted(values.items(), key=lambda item: (-item[1].jobs, item[0]))
    return {value: sums for value, sums in ordered[:MAX_VALUES] if sums.jobs}


def _periods(since: date, until: date) -> tuple[list[Period], str]:
    """Return the bars of the range, still empty, and how long each is."""
    length = (until - since).days
    step = "day" if length < MAX_SINGLE_DAYS else "week" if length <= MAX_DAYS else "month"
    return [Period(start, end, Sums(), {}) for start, end in _stretches(since, until, step)], step


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


def _merge(total: Sums, sums: Sums) -> None:
    for name in COLUMNS:
        setattr(total, name, getattr(total, name) + getattr(sums, name))
