"""One metric of several jobs: a line for each run of a job, over steps or over the time since the job first ran.

A restart goes on from its checkpoint, so its line begins at an earlier step than the last one ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import duration, value_text
from dashboard.drawing.study_chart import Scale
from dashboard.drawing.trial_curves import MAX_ACROSS, places, plot_across

Points = Sequence[tuple[float, float]]
"""(step or seconds, value), in the order in which they were measured."""


@dataclass(frozen=True, slots=True)
class JobCurve:
    """The lines of one job. `number` is its place in the comparison, from 1."""

    number: int
    name: str
    lines: Sequence[Points]

    @property
    def last(self) -> float:
        """The newest value."""
        return self.lines[-1][-1][1]


def draw_job_curves(curves: Sequence[JobCurve], metric: str, by_time: bool) -> SafeString:
    """Return the chart of one metric. Return "" if there are no curves."""
    points = [point for curve in curves for line in curve.lines for point in line]
    if not points:
        return SafeString("")
    scale = Scale([value for across, value in points], [1])
    low, high = (min(bound(across for across, value in points), MAX_ACROSS) for bound in (min, max))
    ends = [duration(at) if by_time else _("step %(number)s") % {"number": value_text(at)} for at in (low, high)]
    known = {"metric": metric, "jobs": len(curves), "low": ends[0], "high": ends[1]}
    label = _("%(metric)s of %(jobs)s jobs, %(low)s to %(high)s.") % known
    drawn = format_html_join(
        "", "{}", ((_path(curve, line, scale, low, high),) for curve in reversed(curves) for line in curve.lines)
    )
    return plot_across(scale, label, drawn, ends)


def _path(curve: JobCurve, line: Points, scale: Scale, low: float, high: float) -> SafeString:
    shown = places(line, scale, low, high)
    return format_html(
        '<path class="job-curve" data-job="{}" vector-effect="non-scaling-stroke" d="M{}"><title>{}</title></path>',
        curve.number,
        "L".join([*shown, shown[-1]]),  # a line to itself makes one point a dot
        _("%(name)s: at last %(value)s") % {"name": curve.name, "value": value_text(curve.last)},
    )
