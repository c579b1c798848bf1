"""The filters of the history as conditions for its list of jobs and for its figures."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Self
from uuid import UUID

from django.db.models import Q

from dashboard.queries.search import Search

FACETS = ("state", "strategy", "accelerator", "region", "owner", "team")
"""Facets for which the page counts jobs and offers values."""
NO_ACCELERATOR = "none"
"""Represents the empty text, which in a URL would mean no filter."""

CONDITIONS = {
    "owner": "owner_id IN (SELECT id FROM auth_user WHERE username IN ({marks}))",
    "team": "team_id IN (SELECT id FROM jobs_team WHERE name IN ({marks}))",
}
"""Conditions for facets of which the figures have ids instead of values."""


@dataclass(frozen=True, slots=True)
class HistoryFilters:
    """Values of each facet, any of which matches. An empty facet does not filter. Days are in UTC."""

    search: Search = field(default_factory=Search)
    key: UUID | None = None
    """The id of a job, if one was searched for."""
    state: frozenset[str] = frozenset()
    strategy: frozenset[str] = frozenset()
    accelerator: frozenset[str] = frozenset()
    region: frozenset[str] = frozenset()
    owner: frozenset[str] = frozenset()
    team: frozenset[str] = frozenset()
    project: frozenset[str] = frozenset()
    """Applies only to the list of jobs, because the figures have no column for it."""
    since: date | None = None
    until: date | None = None
    by_end: bool = False
    """Whether the days refer to the job's end instead of its request."""

    def values(self, facet: str) -> frozenset[str]:
        """Return the values of one facet."""
        found: frozenset[str] = getattr(self, facet)
        return found

    def without(self, facet: str) -> Self:
        """Return the filters without one facet."""
        return replace(self, **{facet: frozenset()})  # type: ignore[arg-type]

    @property
    def is_search(self) -> bool:
        """Whether jobs are searched for by words or an id."""
        return bool(self.search or self.key)

    @property
    def column(self) -> str:
        """The time column by which jobs are ordered and to which the days apply."""
        return "ended_at" if self.by_end and (self.since or self.until) else "requested_at"

    @property
    def within(self) -> Q:
        """The condition that an index serves: a range of `column`, or an id."""
        condition = Q(pk=self.key) if self.key else Q()
        if self.since:
            condition &= Q(**{f"{self.column}__gte": datetime.combine(self.since, time(), UTC)})
        if self.until:
            condition &= Q(**{f"{self.column}__lt": datetime.combine(self.until + timedelta(days=1), time(), UTC)})
        return condition

    @property
    def matching(self) -> Q:
        """The condition that is checked for each job. An accelerator matches only jobs that have ended."""
        condition = self.search.condition
        for facet in ("state", "strategy", "region", "project"):
            if wanted := self.values(facet):
                condition &= Q(**{f"{facet}__in": sorted(wanted)})
        if self.team:
            condition &= Q(team__name__in=sorted(self.team))
        if self.accelerator:
            condition &= Q(figures__accelerator__in=_accelerators(self.accelerator))
        return condition

    @property
    def of_figures(self) -> tuple[str, list[str]]:
        """The SQL condition over columns of the figures, and its parameters. The search does not filter figures."""
        conditions, parameters = ["1 = 1"], list[str]()
        for facet in FACETS:
            if wanted := self.values(facet):
                values = _accelerators(wanted) if facet == "accelerator" else sorted(wanted)
                marks = ", ".join(["%s"] * len(values))
                conditions.append(CONDITIONS.get(facet, f"{column_of(facet)} IN ({{marks}})").format(marks=marks))
                parameters += values
        return " AND ".join(conditions), parameters


def column_of(facet: str) -> str:
    """Return the column of the figures that holds the values of a facet, or the ids of their rows."""
    return {"state": "outcome", "owner": "owner_id", "team": "team_id"}.get(facet, facet)


def _accelerators(wanted: frozenset[str]) -> list[str]:
    return sorted("" if value == NO_ACCELERATOR else value for value in wanted)
