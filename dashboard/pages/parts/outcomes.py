"""The outcomes of two jobs side by side: state, cost, wait, run time, restarts and results of trials."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy as _

from dashboard.drawing import figures, marks
from dashboard.pages.parts.rows import Row, row_of
from jobs.models import Job


class Outcome(NamedTuple):
    """One value of both jobs, as text, with "–" for a job that has none."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """Whether the jobs differ in this value."""
        return self.first != self.second


if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

NONE = "–"
FIGURES: dict["StrOrPromise", Callable[[Row], str]] = {
    _("State"): lambda row: marks.state_word(row.job.state),
    _("Strategy"): lambda row: row.strategy,
    _("Cost"): lambda row: figures.money(row.cost) if row.has_cost else NONE,
    _("Estimate"): lambda row: figures.estimated(row.job),
    _("Waited"): lambda row: figures.duration(row.waited),
    _("Ran"): lambda row: figures.duration(row.ran),
    _("Restarts"): lambda row: str(row.job.restarts),
    _("Trials"): lambda row: row.job.trials_summary or NONE,
}


def outcomes(first: Job, second: Job, *, now: datetime) -> list[Outcome]:
    """Return the outcomes of two jobs, without values that neither has. A running job has its cost so far."""
    rows = row_of(first, now), row_of(second, now)
    found = [Outcome(str(name), *(read(row) for row in rows)) for name, read in FIGURES.items()]
    return [each for each in found if {each.first, each.second} != {NONE}]
