"""The figures of jobs that have ended: counts of each facet, and sums over time, from rows that are kept as sums.

Whole months come from the sums of months. If a range begins or ends within a month, the figures of single jobs are
added to them, or those of the days outside are subtracted, whichever are fewer days. So any range is exact. A short
range with few jobs is read from single jobs alone.
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
from dashboard.queries.history_sums import PERIODS, Days, Parts, Sums, count_facets, list_sums
from dashboard.queries.search import Search
from jobs.cache import Recent
from jobs.models import JobFigures, Team

MAX_DAYS = 100
"""Longer ranges are drawn by month."""
MAX_SINGLE_DAYS = 31
"""Longer ranges are drawn by week."""
MAX_WEEKLY_JOBS = 30_000
"""Ranges with more jobs are drawn by month, because weeks are summed from single jobs."""
MAX_VALUES = 40
"""Values of one facet that a page lists: those with most jobs."""
MAX_KEPT = 50
"""Figures that a process keeps, each of some hundred sums."""
DAY, WEEK = timedelta(days=1), timedelta(days=7)


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
    """Return the figures of ended jobs that the filters leave, of the days up to `now`; five queries at most.

    The days of the filters are taken as those of the end; a search and a project narrow no figures. What was asked for
    is kept for some seconds: people of a team look at the same, and each letter of a name asks again.
    """
    teams = tuple(sorted(team.pk for team in teams_of(user)))
    return _recent.get((teams, replace(filters, search=Search(), key=None, project=frozenset()), of, now.date()), now)


def _load(asked: Asked, _now: datetime) -> HistoryFigures:
    teams, filters, of, today = asked
    until = min(filters.until or today, today)
    first = _first_day(teams)
    since = max(filters.since, first) if filters.since and first else first
    if since is None or since > until:
        return HistoryFigures(Sums(), {facet: {} for facet in FACETS}, {}, {}, (), "day", None, until)
    groups: dict[str, Sums] = {}
    step = _step(teams, since, until)
    periods = [Period(start, end, Sums(), {}) for start, end in _stretches(since, until, step)]
    starts = [period.start for period in periods]
    parts = Parts((), ((since, until),), ())
    if step == "month":
        parts = _parts(since, until, is_first=since == first, is_last=until == today)
    for row in list_sums(teams, filters, of, parts):
        if row["kind"] == PERIODS:
            period = periods[max(bisect_right(starts, row["at"]) - 1, 0)]
            period.sums.add(row)
            period.by_strategy.setdefault(row["value"], Sums()).add(row)
        else:
            groups.setdefault(_value(of, row["value"]), Sums()).add(row)
    total, strategies = Sums(), dict[str, Sums]()
    for period in periods:
        total.merge(period.sums)
        for strategy, sums in period.by_strategy.items():
            strategies.setdefault(strategy, Sums()).merge(sums)
    facets = {
        facet: _most({_value(facet, value): jobs for value, jobs in values.items()})
        for facet, values in count_facets(teams, filters, parts).items()
    }
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


def _step(teams: Sequence[int], since: date, until: date) -> str:
    """Return how long each bar of the range is. One query if it may be a week."""
    length = (until - since).days
    if length < MAX_SINGLE_DAYS:
        return "day"
    if length > MAX_DAYS:
        return "month"
    jobs = JobFigures.objects.filter(team__in=teams, ended_on__range=(since, until))
    return "week" if jobs[: MAX_WEEKLY_JOBS + 1].count() <= MAX_WEEKLY_JOBS else "month"


def _parts(since: date, until: date, *, is_first: bool, is_last: bool) -> Parts:
    """Return the months and days whose sums are those of a range that spans more than one month.

    `is_first`: no job ended before the range; `is_last`: none after it.
    """
    start, end, added, removed = since.replace(day=1), _next_month(until), list[Days](), list[Days]()
    outside = since.day - 1
    if not is_first and outside > (_next_month(since) - since).days:
        added.append((since, _next_month(since) - DAY))
        start = _next_month(since)
    elif not is_first and outside:
        removed.append((start, since - DAY))
    outside = (end - until).days - 1
    if not is_last and outside > until.day:
        added.append((until.replace(day=1), until))
        end = until.replace(day=1)
    elif not is_last and outside:
        removed.append((until + DAY, end - DAY))
    return Parts((start, end - DAY) if start < end else (), tuple(added), tuple(removed))


def _most(values: dict[str, int]) -> dict[str, int]:
    ordered = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return {value: jobs for value, jobs in ordered[:MAX_VALUES] if jobs}


def _stretches(since: date, until: date, step: str) -> Iterator[tuple[date, date]]:
    """Yield the first and last day of each bar. Weeks begin on Mondays."""
    start = since
    while start <= until:
        after = {
            "day": start + DAY,
            "week": start - timedelta(days=start.weekday()) + WEEK,
            "month": _next_month(start),
        }[step]
        yield start, min(after - DAY, until)
        start = after


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)
