"""What became of two jobs, side by side: state, cost, wait, run time, restarts and what their trials reached."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from dashboard.drawing import figures, marks
from dashboard.pages.parts.rows import Row, row_of
from jobs.models import Job


class Outcome(NamedTuple):
    """One figure of both jobs, as text; "–" where a job has none."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """Whether the jobs differ in it."""
        return self.first != self.second


NONE = "–"
FIGURES: dict[str, Callable[[Row], str]] = {
    "State": lambda row: marks.state_word(row.job.state),
    "Strategy": lambda row: row.strategy,
    "Cost": lambda row: figures.money(row.cost) if row.has_cost else NONE,
    "Estimate": lambda row: figures.money(row.job.estimate_usd),
    "Waited": lambda row: figures.duration(row.waited),
    "Ran": lambda row: figures.duration(row.ran),
    "Restarts": lambda row: str(row.job.restarts),
    "Trials": lambda row: row.job.trials_summary or NONE,
}


def outcomes(first: Job, second: Job, *, now: datetime) -> list[Outcome]:
    """Return the outcomes of two jobs; costs of jobs that run are those so far. What neither has is left out."""
    rows = row_of(first, now), row_of(second, now)
    found = [Outcome(name, *(read(row) for row in rows)) for name, read in FIGURES.items()]
    return [each for each in found if {each.first, each.second} != {NONE}]
