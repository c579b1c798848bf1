"""Sums over jobs that have ended: of each value of a facet, and of each strategy over time. One query each.

It is SQL, because Django took a third of the page to write the same query from fourteen querysets.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from dashboard.queries.history_filters import FACETS, HistoryFilters, column_of
from jobs.cost import from_micros
from jobs.models.figures import WAITS
from jobs.states import FAILURES, SUCCESSFUL
from jobs.strategies import STRATEGIES
from jobs.timeline import NEVER_RAN

HELD = sorted(key for key, strategy in STRATEGIES.items() if strategy.is_held)
PREEMPTIBLE = sorted(key for key, strategy in STRATEGIES.items() if strategy.preemptible)
GROUPS, PERIODS = "group", "period"
"""Kinds of rows: of a value of the chosen facet, and of one strategy and one day or month."""


def _texts(values: Sequence[str]) -> str:
    """Return names of ours, which need no quoting, as a list in SQL."""
    return ", ".join(f"'{value}'" for value in sorted(values))


PLAIN = ("jobs", "micros", "saved_micros", "lost_micros", "estimated", "inside", "unpriced", "preemptions")
CONDITIONAL = {
    "succeeded": f"CASE WHEN outcome IN ({_texts([*SUCCESSFUL])}) THEN jobs ELSE 0 END",
    "failed": f"CASE WHEN outcome IN ({_texts([*FAILURES])}) THEN jobs ELSE 0 END",
    "spot_seconds": f"CASE WHEN strategy IN ({_texts(PREEMPTIBLE)}) THEN seconds ELSE 0 END",
    "costing": f"CASE WHEN strategy NOT IN ({_texts(HELD)}) THEN ran ELSE 0 END",
}
COLUMNS = (*PLAIN, *CONDITIONAL)
RAN = "SUM(CASE WHEN wait_bucket >= 0 THEN jobs ELSE 0 END)"
"""How many jobs ran, of rows that are each of one bucket; of single rows it may be negative."""
SUMS = {name: f"SUM({name})" for name in (*PLAIN, "seconds")} | {"ran": RAN}
SUMS_OF_MONTHS = SUMS | {name: f"SUM({name})" for name in WAITS}
SUMS_OF_MONTHS |= {"ran": f"{RAN} + {' + '.join(SUMS_OF_MONTHS[name] for name in WAITS)}"}
SUMS |= dict.fromkeys(WAITS, "0")
AGAIN = ", ".join(f"CAST(SUM({CONDITIONAL.get(name, name)}) AS bigint)" for name in COLUMNS)
AGAIN_WAITS = ", ".join(f"CAST(SUM({name}) AS bigint)" for name in WAITS)
NO_WAITS = ", ".join("0" for _ in WAITS)
KEYS = ", ".join(column_of(facet) for facet in FACETS)
NAMES = {
    "owner": "(SELECT username FROM auth_user WHERE auth_user.id = {id})",
    "team": "(SELECT name FROM jobs_team WHERE jobs_team.id = {id})",
}
MONTHS = "jobs_monthfigures WHERE month >= %s AND month <= %s AND team_id IN ({teams})"
DAYS = "jobs_jobfigures WHERE ({ranges}) AND team_id IN ({teams})"
COUNTED = "SELECT {keys}, {sign}SUM(jobs) AS jobs FROM {rows} GROUP BY {keys}"
FACET = "SELECT '{facet}', {name}, CAST(SUM(jobs) AS bigint) FROM counted WHERE {condition} GROUP BY {column}"
# How long jobs waited is the bucket of a row, except in months, whose rows have a column for each bucket: summing all
# of these would take longer for single jobs than all else.
QUERY = """
    WITH summed AS ({summed})
    SELECT 'group', {value}, NULL, wait_bucket, {again}, {waits} FROM summed GROUP BY value, wait_bucket
    UNION ALL SELECT 'period', strategy, CAST(at AS text), {never_ran}, {again}, {no_waits}
    FROM summed GROUP BY strategy, at
"""
SUMMED = """
    SELECT {column} AS value, strategy, outcome, {at} AS at, wait_bucket, {sums} FROM {rows} AND {condition}
    GROUP BY {column}, strategy, outcome, {at}, wait_bucket
"""


@dataclass(slots=True)
class Sums:
    """Sums over jobs. `waits`: {bucket of jobs.timeline.wait_bucket: jobs}; `spot_seconds`: of preemptible machines."""

    jobs: int = 0
    succeeded: int = 0
    failed: int = 0
    micros: int = 0
    saved_micros: int = 0
    lost_micros: int = 0
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
        self.waits.update(row["waits"])

    def merge(self, sums: "Sums") -> None:
        """Add other sums, without their waits."""
        for name in COLUMNS:
            setattr(self, name, getattr(self, name) + getattr(sums, name))

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
        return from_micros(self.micros)

    @property
    def priced(self) -> int:
        """How many ran on machines that cost something at a known price."""
        return max(self.costing - self.unpriced, 0)

    @property
    def saved_usd(self) -> Decimal:
        """What the same work would have cost more under Standard."""
        return from_micros(self.saved_micros)

    @property
    def lost_usd(self) -> Decimal:
        """What work cost that restarts undid."""
        return from_micros(self.lost_micros)

    @property
    def held(self) -> float | None:
        """The share of the jobs with an estimate whose cost was in its range; None where there is none."""
        return self.inside / self.estimated if self.estimated else None


Days = tuple[date, date]
"""The first and the last."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the sums of a range consist of.

    `months`: the first day of the first month and the last day of the last; (): none. `added` and `removed` are days of
    which the figures of single jobs are added and subtracted.
    """

    months: Days | tuple[()]
    added: Sequence[Days]
    removed: Sequence[Days]


def count_facets(teams: Sequence[int], filters: HistoryFilters, parts: Parts) -> dict[str, dict[str, int]]:
    """Return {facet: {value: jobs}}, each counted without the filter of its own facet; one query.

    All are counted from one reading of the figures, because each row would otherwise be read six times.
    """
    sources = list(_sources(teams, parts))
    counted = " UNION ALL ".join(COUNTED.format(keys=KEYS, sign=sign, rows=rows) for _, sign, rows, _ in sources)
    selects, values = list[str](), [value for *_, own in sources for value in own]
    for facet in FACETS:
        condition, own = filters.without(facet).of_figures
        column = column_of(facet)
        selects.append(FACET.format(facet=facet, name=_name(facet, column), condition=condition, column=column))
        values += own
    found: dict[str, dict[str, int]] = {facet: {} for facet in FACETS}
    with connection.cursor() as cursor:
        cursor.execute(f"WITH counted AS ({counted}) {' UNION ALL '.join(selects)}", values)
        for facet, value, jobs in cursor.fetchall():
            found[facet][value] = jobs
    return found


def list_sums(teams: Sequence[int], filters: HistoryFilters, of: str, parts: Parts) -> Iterator[dict[str, Any]]:
    """Yield rows with COLUMNS, `waits`, `kind`, `value` and `at`, each a part of the sums of a value; one query.

    Rows of GROUPS are of the facet `of`. `at` is None where `kind` is not PERIODS: the day or first day of the month,
    which may lie outside the range. `waits`, {bucket: jobs}, is empty where it is not GROUPS.
    """
    condition, parameters = filters.of_figures
    summed, values = list[str](), list[Any]()
    for at, sign, rows, own in _sources(teams, parts):
        sums = SUMS_OF_MONTHS if at == "month" else SUMS
        expressions = ", ".join(f"{sign}({expression}) AS {name}" for name, expression in sums.items())
        summed.append(SUMMED.format(column=column_of(of), at=at, sums=expressions, rows=rows, condition=condition))
        values += [*own, *parameters]
    query = QUERY.format(
        summed=" UNION ALL ".join(summed),
        value=_name(of, "value"),
        again=AGAIN,
        waits=AGAIN_WAITS,
        no_waits=NO_WAITS,
        never_ran=NEVER_RAN,
    )
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        names = ("kind", "value", "at", "bucket", *COLUMNS, *WAITS)
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in found:
        yield row | {"at": date.fromisoformat(row["at"]) if row["at"] else None, "waits": _waits(row)}


def _sources(teams: Sequence[int], parts: Parts) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Yield the rows of each part: the column of the time, the sign of the sums, SQL after FROM, and its parameters."""
    marks = ", ".join(["%s"] * len(teams))
    if parts.months:
        yield "month", "", MONTHS.format(teams=marks), [*parts.months, *teams]
    for sign, days in (("", parts.added), ("-", parts.removed)):
        if days:
            ranges = " OR ".join(["ended_on >= %s AND ended_on <= %s"] * len(days))
            values = [*(day for each in days for day in each), *teams]
            yield "ended_on", sign, DAYS.format(ranges=ranges, teams=marks), values


def _waits(row: dict[str, Any]) -> dict[int, int]:
    """Return {bucket: jobs} of a row; its bucket is negative where it is none, or is that of a month's jobs."""
    if row["bucket"] >= 0:
        return {row["bucket"]: row["jobs"]}
    return {bucket: row[name] for bucket, name in enumerate(WAITS) if row[name]}


def _name(facet: str, column: str) -> str:
    """Return the text of a column's value in SQL; of some facets it is an id."""
    return NAMES[facet].format(id=column) if facet in NAMES else column
