"""Sums over jobs that have ended: of each value of each facet, and of each strategy over time. One query.

It is SQL, because Django took a third of the page to write the same query from fourteen querysets.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from dashboard.queries.history_filters import FACETS, HistoryFilters
from jobs.states import FAILURES, SUCCESSFUL
from jobs.strategies import STRATEGIES
from jobs.timeline import NEVER_RAN

PAID_FOR = ("persistent", "reservation")
"""Strategies whose machines are paid for whether or not a job uses them."""
PREEMPTIBLE = sorted(key for key, strategy in STRATEGIES.items() if strategy.preemptible)
PERIODS = "period"
"""In the place of a facet: rows of one strategy and one day or month."""


def _summed(names: Sequence[str]) -> str:
    return ", ".join(f"CAST(SUM({name}) AS bigint) AS {name}" for name in names)


def _texts(values: Sequence[str]) -> str:
    """Return names of ours, which need no quoting, as a list in SQL."""
    return ", ".join(f"'{value}'" for value in sorted(values))


PLAIN = ("jobs", "cents", "saved_cents", "lost_cents", "estimated", "inside", "unpriced", "preemptions")
COLUMNS = (*PLAIN, "succeeded", "failed", "spot_seconds", "costing")
ROWS = """
    SELECT {at} AS at, figures.strategy, figures.accelerator, figures.region, figures.outcome AS state,
        auth_user.username AS owner, jobs_team.name AS team, figures.wait_bucket AS bucket, figures.seconds, {plain},
        CASE WHEN figures.outcome IN ({successful}) THEN figures.jobs ELSE 0 END AS succeeded,
        CASE WHEN figures.outcome IN ({failures}) THEN figures.jobs ELSE 0 END AS failed,
        CASE WHEN figures.strategy IN ({preemptible}) THEN figures.seconds ELSE 0 END AS spot_seconds,
        CASE WHEN figures.seconds > 0 AND figures.strategy NOT IN ({paid_for}) THEN figures.jobs ELSE 0 END AS costing
    FROM {table} AS figures
    JOIN auth_user ON auth_user.id = figures.owner_id
    JOIN jobs_team ON jobs_team.id = figures.team_id
    WHERE figures.team_id IN ({teams}) AND ({range})
"""
MONTHS = "figures.month >= %s AND figures.month < %s"
DAYS = "figures.ended_on >= %s AND figures.ended_on < %s OR figures.ended_on >= %s AND figures.ended_on <= %s"


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


def list_sums(
    teams: Sequence[int], filters: HistoryFilters, since: date, until: date, months: tuple[date, date]
) -> Iterator[dict[str, Any]]:
    """Yield rows with COLUMNS, `bucket`, `facet`, `value` and `at`, each a part of the sums of a value; one query.

    `months`: the first day of the whole months in the range, and the day after the last of them; the days around them
    are summed from single jobs. A facet is summed without its own filter. `at` is None where `facet` is not PERIODS;
    `bucket` is NEVER_RAN where it is.
    """
    marks, (whole, after) = ", ".join(["%s"] * len(teams)), months
    rows = " UNION ALL ".join(
        ROWS.format(
            table=table, at=at, range=within, teams=marks, plain=", ".join(f"figures.{name}" for name in PLAIN),
            successful=_texts([*SUCCESSFUL]), failures=_texts([*FAILURES]), preemptible=_texts(PREEMPTIBLE),
            paid_for=_texts(PAID_FOR),
        )
        for table, at, within in (("jobs_monthfigures", "month", MONTHS), ("jobs_jobfigures", "ended_on", DAYS))
    )  # fmt: skip
    parameters: list[Any] = [*teams, whole, after, *teams, since, whole, after, until]
    parts = []
    for facet in (*FACETS, PERIODS):
        condition, values = filters.without(facet).of_figures if facet in FACETS else filters.of_figures
        columns = f"{facet} AS value, NULL AS at, bucket"
        if facet == PERIODS:  # by how long jobs waited would be twenty rows for one, and nobody asks for that
            columns = f"strategy AS value, CAST(at AS text) AS at, {NEVER_RAN} AS bucket"
        parts.append(
            f"SELECT '{facet}' AS facet, {columns}, {_summed(COLUMNS)} FROM ended"  # noqa: S608
            f" WHERE {condition} GROUP BY 1, 2, 3, 4"
        )
        parameters += values
    with connection.cursor() as cursor:
        cursor.execute(f"WITH ended AS ({rows}) {' UNION ALL '.join(parts)}", parameters)
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in found:
        yield row | {"at": date.fromisoformat(row["at"]) if row["at"] else None}
