"""One parameter of a study against a metric, with a point per trial that has a result. The table has the same values.

Horizontal positions are percentages of the width. Vertical positions are pixels, on the scale of the chart by trial.
"""

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import value_text
from dashboard.drawing.parallel_chart import FOOT as AXIS_FOOT
from dashboard.drawing.parallel_chart import TOP as AXIS_TOP
from dashboard.drawing.parallel_chart import Axis
from dashboard.drawing.study_chart import FOOT, HEIGHT, Scale, plot
from jobs.models import Trial
from jobs.timeline import Metric, Study, value_of

LEFT, RIGHT = 3.0, 97.0
MAX_WORDS = 12
"""Maximum values of a categorical parameter that are named below the axis. Of more, only the first and last are named.
"""
Point = tuple[Trial, float | str, float]


def points_of(study: Study, metric: Metric, parameter: str) -> list[Point]:
    """Return (trial, value of the parameter, value of the metric) for each trial that has both, in order of trials."""
    found = ((trial, trial.parameters.get(parameter), value_of(trial, metric)) for trial in study.trials)
    return [(trial, given, value) for trial, given, value in found if given is not None and value is not None]


def draw_scatter(study: Study, metric: Metric | None, parameter: str) -> SafeString:
    """Return the chart. Return "" if fewer than two trials have both values."""
    points = points_of(study, metric, parameter) if metric is not None else []
    if metric is None or len(points) < 2:
        return SafeString("")
    axis = Axis(parameter, [given for trial, given, value in points])
    scale = Scale([value for *_, value in points], [1])
    best = max if metric.is_more_better else min
    top = best(points, key=lambda point: point[2])
    label = _(
        "%(metric)s by %(parameter)s: %(trials)s trials, %(low)s to %(high)s; "
        "the best is %(best)s at %(at)s, trial %(trial)s."
    ) % {
        "metric": metric.id,
        "parameter": parameter,
        "trials": len(points),
        "low": axis.ends[1] or axis.ends[0],
        "high": axis.ends[0],
        "best": value_text(top[2]),
        "at": value_text(top[1]),
        "trial": top[0].trial_id,
    }
    dots = format_html_join("", "{}", ((_point(point, axis, scale, study, metric),) for point in points))
    return plot(scale, label, dots, _names(axis))


def _along(axis: Axis, given: float | str) -> float:
    """Return the position of a value in percent of the width."""
    if len(axis.words) == 1:
        return (LEFT + RIGHT) / 2
    share = (AXIS_FOOT - axis.down(given)) / (AXIS_FOOT - AXIS_TOP)
    return LEFT + (RIGHT - LEFT) * share


def _point(point: Point, axis: Axis, scale: Scale, study: Study, metric: Metric) -> SafeString:
    trial, given, value = point
    is_best = trial in study.best
    return format_html(
        '<circle class="point{}" cx="{}%" cy="{}" r="{}"><title>{}: {} {}, {} {}</title></circle>',
        " best" if is_best else "", f"{_along(axis, given):.2f}", f"{scale.down(value):.1f}", 6 if is_best else 4,
        _("Trial %(trial)s") % {"trial": trial.trial_id}, axis.name, value_text(given), metric.id, value_text(value),
    )  # fmt: skip


def _names(axis: Axis) -> SafeString:
    """Return the texts below the axis: each word, or the smallest, the middle and the largest number."""
    values: Sequence[float | str]
    if axis.words:
        values = axis.words if len(axis.words) <= MAX_WORDS else [axis.words[0], axis.words[-1]]
    elif axis.low == axis.high:
        values = [axis.low]
    else:
        middle = (axis.low * axis.high) ** 0.5 if axis.is_log else axis.low / 2 + axis.high / 2
        values = [axis.low, middle, axis.high]
    anchors = ((_along(axis, value), value) for value in values)
    return format_html_join(
        "",
        '<text class="axis" x="{}%" y="{}" text-anchor="{}">{}</text>',
        (
            (f"{x:.2f}", (HEIGHT + FOOT) // 2 + 14, "start" if x < 8 else "end" if x > 92 else "middle", _short(value))
            for x, value in anchors
        ),
    )


def _short(value: float | str) -> str:
    return value_text(value)[:14]
