"""The outcomes of jobs side by side: state, cost, wait, run time, restarts and results of trials."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy as _

from dashboard.drawing import figures, marks
from dashboard.pages.parts.rows import Row, row_of
from jobs.models import Job


class Outcome(NamedTuple):
    """One figure of each job, as text, with "–" for a job that has none."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the jobs differ in this figure."""
        return len({*self.values}) > 1


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


def outcomes(jobs: Sequence[Job], *, now: datetime) -> list[Outcome]:
    """Return the outcomes of the jobs, without figures that none has. A running job has its cost so far."""
    rows = [row_of(job, now) for job in jobs]
    found = [Outcome(str(name), tuple(read(row) for row in rows)) for name, read in FIGURES.items()]
    return [each for each in found if {*each.values} != {NONE}]
