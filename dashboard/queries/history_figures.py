"""The figures of jobs that have ended: counts of each facet, and sums over time, from rows that are kept as sums.

Whole months come from the sums of months, the days around them from the figures of their jobs, so any range is exact.
A range of at most MAX_DAYS is read from days alone.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from hashlib import sha256

from django.contrib.auth.models import User
from django.db.models import Min, OuterRef, Subquery

from dashboard.access import teams_of
from dashboard.queries.history_filters import FACETS, NO_ACCELERATOR, HistoryFilters
from dashboard.queries.history_sums import GROUPS, PERIODS, Sums, list_sums
from jobs.cache import Recent
from jobs.models import JobFigures, Team

MAX_DAYS = 100
"""Longer ranges are summed by month."""
MAX_SINGLE_DAYS = 31
"""Longer ranges are drawn by week."""
MAX_VALUES = 40
"""Values of one facet that a page lists: those with most jobs."""
MAX_KEPT = 50
"""Figures that a process keeps, each of some hundred sums."""
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days, drawn as one bar; `end` is its last day. Its sums have no waits."""

    start: date
    end: date
    sums: Sums
    by_strategy: dict[str, Sums]


@dataclass(frozen=True)
class HistoryFigures:
    """What the page draws; shared, so nothing may change it.

    `facets`: {facet: {value: jobs}}, each without the filter of its own facet. `groups`: {value: sums} of the facet
    that was asked for, `strategies` those of the strategies. `periods` are in order and without gaps; `step` is "day",
    "week" or "month". `since` is None where nothing ended.
    """

    total: Sums
    facets: dict[str, dict[str, int]]
    groups: dict[str, Sums]
    strategies: dict[str, Sums]
    periods: Sequence[Period]
    step: str
    since: date | None
    until: date

    @cached_property
    def version(self) -> str:
        """A text that differs where any of the figures do."""
        return sha256(repr(self).encode()).hexdigest()


Asked = tuple[tuple[int, ...], HistoryFilters, str, date]
"""The ids of teams, the filters, the facet of the groups, and the last day."""


def get_history_figures(user: User, filters: HistoryFilters, of: str, now: datetime) -> HistoryFigures:
    """Return the figures of ended jobs that the filters leave, of the days up to `now`; three queries at most.

    The days of the filters are taken as those of the end; a name and a project narrow no figures. What was asked for is
    kept for some seconds: people of a team look at the same, and each letter of a name asks again.
    """
    teams = tuple(sorted(team.pk for team in teams_of(user)))
    return _recent.get((teams, replace(filters, name="", project=frozenset()), of, now.date()), now)


def _load(asked: Asked, _now: datetime) -> HistoryFigures:
    teams, filters, of, today = asked
    until = min(filters.until or today, today)
    first = _first_day(teams)
    since = max(filters.since, first) if filters.since and first else first
    if since is None or since > until:
        return HistoryFigures(Sums(), {facet: {} for facet in FACETS}, {}, {}, (), "day", None, until)
    facets: dict[str, dict[str, int]] = {facet: {} for facet in FACETS}
    groups: dict[str, Sums] = {}
    periods, step = _periods(since, until)
    starts = [period.start for period in periods]
    months = _whole_months(since, until, is_first=since == first, is_last=until == today)
    for row in list_sums(teams, filters, of, (since, until), months):
        if row["facet"] == PERIODS:
            period = periods[max(bisect_right(starts, row["at"]) - 1, 0)]
            period.sums.add(row)
            period.by_strategy.setdefault(row["value"], Sums()).add(row)
        elif row["facet"] == GROUPS:
            groups.setdefault(_value(of, row["value"]), Sums()).add(row)
        else:
            facets[row["facet"]][_value(row["facet"], row["value"])] = row["jobs"]
    total, strategies = Sums(), dict[str, Sums]()
    for period in periods:
        total.merge(period.sums)
        for strategy, sums in period.by_strategy.items():
            strategies.setdefault(strategy, Sums()).merge(sums)
    facets = {facet: _most(values) for facet, values in facets.items()}
    return HistoryFigures(total, facets, _with_most(groups), _with_most(strategies), periods, step, since, until)


def _with_most(groups: dict[str, Sums]) -> dict[str, Sums]:
    return {value: groups[value] for value in _most({value: sums.jobs for value, sums in groups.items()})}


def _value(facet: str, value: str) -> str:
    return NO_ACCELERATOR if facet == "accelerator" and not value else value


_recent: Recent[Asked, HistoryFigures] = Recent(_load, max_kept=MAX_KEPT)


def _first_day(teams: Sequence[int]) -> date | None:
    """Return the day on which the first job of the teams ended; None where none has."""
    of_team = JobFigures.objects.filter(team=OuterRef("pk")).order_by("ended_on").values("ended_on")[:1]
    firsts = Team.objects.filter(pk__in=teams).annotate(first=Subquery(of_team))
    first: date | None = firsts.aggregate(min=Min("first"))["min"]
    return first


def _whole_months(since: date, until: date, *, is_first: bool, is_last: bool) -> tuple[date, date]:
    """Return the first day of the whole months of a long range and the day after them; of a short one no days.

    A month is whole as well where no job ended before the first day of the range, or after the last.
    """
    if (until - since).days <= MAX_DAYS:
        return until + timedelta(days=1), until + timedelta(days=1)
    whole = since.replace(day=1) if is_first or since.day == 1 else _next_month(since)
    next_month = _next_month(until)
    return whole, next_month if is_last or next_month - timedelta(days=1) == until else until.replace(day=1)


def _most(values: dict[str, int]) -> dict[str, int]:
    ordered = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return {value: jobs for value, jobs in ordered[:MAX_VALUES] if jobs}


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
