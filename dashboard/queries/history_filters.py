"""What the history is narrowed to, as conditions for its list of jobs and for its figures."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Self
from uuid import UUID

from django.db.models import Q

FACETS = ("state", "strategy", "accelerator", "region", "owner", "team")
"""By what the page counts jobs and lets them be chosen."""
NO_ACCELERATOR = "none"
"""Stands for the empty text, which in an address looks like no filter."""

CONDITIONS = {
    "owner": "owner_id IN (SELECT id FROM auth_user WHERE username IN ({marks}))",
    "team": "team_id IN (SELECT id FROM jobs_team WHERE name IN ({marks}))",
}
"""Of facets of which the figures have ids instead of values."""


@dataclass(frozen=True, slots=True)
class HistoryFilters:
    """Values of each facet, any of which is wanted; none of them narrows nothing. Days are in UTC."""

    name: str = ""
    state: frozenset[str] = frozenset()
    strategy: frozenset[str] = frozenset()
    accelerator: frozenset[str] = frozenset()
    region: frozenset[str] = frozenset()
    owner: frozenset[str] = frozenset()
    team: frozenset[str] = frozenset()
    project: frozenset[str] = frozenset()
    """Narrows only the list of jobs: no column of the figures has it."""
    since: date | None = None
    until: date | None = None
    by_end: bool = False
    """Whether the days are those of the job's end, not of its request."""

    def values(self, facet: str) -> frozenset[str]:
        """Return the values of one facet."""
        found: frozenset[str] = getattr(self, facet)
        return found

    def without(self, facet: str) -> Self:
        """Return the filters without one facet."""
        return replace(self, **{facet: frozenset()})  # type: ignore[arg-type]

    @property
    def key(self) -> UUID | None:
        """The id of a job where that was typed in the place of a name."""
        try:
            return UUID(self.name.strip())
        except ValueError:
            return None

    @property
    def words(self) -> str:
        """What a job's name has to contain."""
        return "" if self.key else self.name

    @property
    def column(self) -> str:
        """The moment by which jobs are ordered and to which the days apply."""
        return "ended_at" if self.by_end and (self.since or self.until) else "requested_at"

    @property
    def within(self) -> Q:
        """The condition that an index of jobs serves: a range of `column`, or an id."""
        condition = Q(pk=self.key) if self.key else Q()
        if self.since:
            condition &= Q(**{f"{self.column}__gte": datetime.combine(self.since, time(), UTC)})
        if self.until:
            condition &= Q(**{f"{self.column}__lt": datetime.combine(self.until + timedelta(days=1), time(), UTC)})
        return condition

    @property
    def matching(self) -> Q:
        """The condition that is checked job by job. Of an accelerator only jobs that have ended are found."""
        condition = Q()
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
        """The condition for sums of figures, in SQL over their columns, and its values; names narrow none."""
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
