"""Trials as lines across one axis per parameter and one for the metric. The table has the same values.

Horizontal positions are percentages of the width, vertical ones pixels. Of many trials the best are drawn.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import value_text
from jobs.models import Trial
from jobs.timeline import Metric, Study, ranked, value_of

TOP, FOOT, HEIGHT = 30, 210, 230
LEFT, RIGHT = 6.0, 94.0
MAX_AXES, MAX_TRIALS = 8, 60
LOG_RANGE = 100
"""Positive values that differ by more than this factor get a logarithmic axis."""
Value = float | str


class Axis:
    """One axis: the name, its values, and their positions in pixels."""

    def __init__(self, name: str, values: Sequence[Value]) -> None:
        self.name = name
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        self.words = sorted({str(value) for value in values}) if len(numbers) < len(values) else []
        self.low, self.high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
        self.is_log = self.low > 0 and math.log(self.high) - math.log(self.low) > math.log(LOG_RANGE)

    def down(self, value: Value) -> float:
        """Return the position of a value. The largest number is at the top."""
        if self.words:
            share = self.words.index(str(value)) / max(len(self.words) - 1, 1)
        elif self.high == self.low:
            share = 0.5
        elif self.is_log:
            low, high = math.log(self.low), math.log(self.high)  # their quotient may overflow
            share = (math.log(float(value)) - low) / (high - low)
        else:
            share = (float(value) / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves cannot overflow
        return FOOT - share * (FOOT - TOP)

    @property
    def ends(self) -> tuple[str, str]:
        """The texts at the top and the bottom."""
        if self.words:
            return (self.words[-1][:12], self.words[0][:12] if len(self.words) > 1 else "")
        return (value_text(self.high), value_text(self.low))


def draw_parallel(study: Study, metric: Metric | None) -> SafeString:
    """Return the chart. Return "" if fewer than two trials have a result or there is no parameter."""
    if metric is None:
        return SafeString("")
    trials = [trial for trial in ranked(study, metric) if value_of(trial, metric) is not None]
    names = [name for name in study.parameters if all(name in trial.parameters for trial in trials)][: MAX_AXES - 1]
    if len(trials) < 2 or not names:
        return SafeString("")
    shown = trials[:MAX_TRIALS]
    axes = [Axis(name, [trial.parameters[name] for trial in shown]) for name in names]
    axes.append(Axis(metric.id, [value_of(trial, metric) or 0.0 for trial in shown]))
    step = (RIGHT - LEFT) / (len(axes) - 1)
    across = [LEFT + step * place for place in range(len(axes))]
    lines = format_html_join(
        "", "{}", ((_line(trial, axes, across, metric, is_best=trial in study.best),) for trial in reversed(shown))
    )
    label = _("%(number)s trials across %(parameters)s and %(metric)s; the best is trial %(trial)s.") % {
        "number": len(shown),
        "parameters": ", ".join(names),
        "metric": metric.id,
        "trial": trials[0].trial_id,
    }
    anchors = ["start", *["middle"] * (len(axes) - 2), "end"]
    drawn = format_html_join("", "{}", ((_axis(*each),) for each in zip(axes, across, anchors, strict=True)))
    return format_html(
        '<svg class="chart parallel" role="img" aria-label="{}" height="{}">{}{}</svg>', label, HEIGHT, lines, drawn
    )


def _line(trial: Trial, axes: Sequence[Axis], across: Sequence[float], metric: Metric, *, is_best: bool) -> SafeString:
    values: list[Value] = [trial.parameters[axis.name] for axis in axes[:-1]]
    values.append(value_of(trial, metric) or 0.0)
    points = [(f"{x:.1f}", f"{axis.down(value):.0f}") for axis, x, value in zip(axes, across, values, strict=True)]
    parts = format_html_join(
        "",
        '<line x1="{}%" y1="{}" x2="{}%" y2="{}"/>',
        ((*start, *end) for start, end in pairwise(points)),
    )
    title = f"{_('Trial %(trial)s') % {'trial': trial.trial_id}}: {metric.id} {value_text(float(values[-1]))}"
    return format_html('<g class="{}"><title>{}</title>{}</g>', "trial best" if is_best else "trial", title, parts)


def _axis(axis: Axis, x: float, anchor: str) -> SafeString:
    top, foot = axis.ends
    return format_html(
        '<line class="axis-line" x1="{0}%" x2="{0}%" y1="{1}" y2="{2}"/><text class="name" x="{0}%" y="11" '
        'text-anchor="{7}">{3}</text><text x="{0}%" y="24" text-anchor="{7}">{4}</text>'
        '<text x="{0}%" y="{5}" text-anchor="{7}">{6}</text>',
        f"{x:.1f}", TOP, FOOT, axis.name[:14], top, FOOT + 14, foot, anchor,
    )  # fmt: skip
