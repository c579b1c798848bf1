"""A study as SVG: the result of each trial, and the best so far as a line of steps. The table has the same values.

Horizontal positions are percentages of the width, so that the drawing fits any screen and its text keeps its size.
Vertical positions are pixels. A trial without a value is drawn at the bottom: a cross if it failed, a ring if it runs.
"""

import math
from collections.abc import Iterator, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import value_text
from dashboard.drawing.scale import anchor, percent
from jobs.timeline import Metric, Step, Study, progress

HEIGHT, TOP, FOOT = 210, 14, 176
"""Pixels: the height, and the positions of the largest and the smallest value."""
GROUND = 190
"""Position of trials without a value, in pixels."""
LEFT, RIGHT = 2.0, 98.0
"""Positions of the first and the last trial, in percent."""
VALUE_TICKS, TRIAL_TICKS = 4, 8
CLOSE = 1e-6
"""Shares of a step below this are ignored as floating-point errors."""
MAX_VALUE, MIN_STEP, MIN_RELATIVE_STEP = 1e300, 1e-290, 1e-9
"""Values beyond MAX_VALUE are drawn at it, because the distance between two values must be finite. Smaller differences
than the others are not drawn."""


def draw(study: Study, metric: Metric | None, newest: int = 0) -> SafeString:
    """Return the chart of one metric for all trials or the `newest`. Return a sentence while no trial has a result."""
    steps = progress(study, metric)[-newest:] if metric is not None else []
    values = [step.value for step in steps if step.value is not None]
    if metric is None or not values:
        return format_html('<p class="note">{}</p>', _("No trial has reported a result yet."))
    scale = Scale(values, [step.number for step in steps])
    return plot(
        scale,
        _label(study, metric, steps),
        _best_line(steps, scale),
        format_html_join("", "{}", ((_point(step, metric, study, scale),) for step in steps)),
        format_html_join(
            "",
            '<text class="axis" x="{}%" y="{}" text-anchor="{}">{}</text>',
            (
                (percent(scale.along(number)), HEIGHT - 4, anchor(scale.along(number)), number)
                for number in scale.trial_ticks()
            ),
        ),
    )


def plot(scale: "Scale", label: str, *drawn: SafeString) -> SafeString:
    """Return the ticks of a scale with their lines, and `drawn` on them. `label` describes the drawing in words."""
    return format_html(
        '<div class="plot"><svg class="plot-scale" aria-hidden="true" width="62" height="{0}">{1}</svg>'
        '<svg class="plot-area" role="img" aria-label="{2}" width="100%" height="{0}">{3}{4}</svg></div>',
        HEIGHT,
        format_html_join(
            "",
            '<text x="56" y="{}" text-anchor="end">{}</text>',
            ((_pixels(scale.down(tick) + 4), value_text(tick)) for tick in scale.value_ticks()),
        ),
        label,
        format_html_join(
            "",
            '<line class="tick" x1="0" x2="100%" y1="{0}" y2="{0}"/>',
            ((_pixels(scale.down(tick)),) for tick in scale.value_ticks()),
        ),
        format_html_join("", "{}", ((part,) for part in drawn)),
    )


class Scale:
    """Turns values into vertical pixels and trial numbers into horizontal percentages."""

    def __init__(self, values: Sequence[float], numbers: Sequence[int]) -> None:
        held = [min(max(value, -MAX_VALUE), MAX_VALUE) for value in values]
        self.low, self.high = min(held), max(held)
        size = max(abs(self.low), abs(self.high))
        if self.high - self.low <= max(size * MIN_RELATIVE_STEP, MIN_STEP):
            room = size / 10 if size > MIN_STEP else 1.0
            self.low, self.high = self.low - room, self.high + room
        # The smallest sufficient of 1, 2 or 5 times a power of ten, so that the values at the ticks are short.
        rough = (self.high - self.low) / VALUE_TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        self.step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - CLOSE))
        self.low = max(math.floor(self.low / self.step + CLOSE) * self.step, -2 * MAX_VALUE)
        self.high = min(math.ceil(self.high / self.step - CLOSE) * self.step, 2 * MAX_VALUE)
        self.first, self.last = min(numbers), max(numbers)

    def down(self, value: float) -> float:
        """Return the position of a value, in pixels from the top."""
        share = (min(max(value, -MAX_VALUE), MAX_VALUE) - self.low) / (self.high - self.low)
        return FOOT - share * (FOOT - TOP)

    def along(self, number: int) -> float:
        """Return the position of a trial, in percent of the width. A single one is in the middle."""
        if self.first == self.last:
            return 50.0
        return LEFT + (RIGHT - LEFT) * (number - self.first) / (self.last - self.first)

    def value_ticks(self) -> Iterator[float]:
        """Yield round values from the lowest to the highest that is drawn."""
        for place in range(round(self.low / self.step), round(self.high / self.step) + 1):
            yield place * self.step

    def trial_ticks(self) -> Iterator[int]:
        """Yield trial numbers at even distances."""
        yield from range(self.first, self.last + 1, max(1, -(-(self.last - self.first) // TRIAL_TICKS)))


def _best_line(steps: Sequence[Step], scale: Scale) -> SafeString:
    """Return the best value so far as a step line, from each new best to the next and to the last trial."""
    turns = [
        step
        for before, step in zip([None, *steps], steps, strict=False)
        if step.best is not None and (before is None or before.best != step.best)
    ]
    if not turns:
        return SafeString("")
    lines: list[tuple[str, str, str, str]] = []
    for here, then in zip(turns, [*turns[1:], None], strict=True):
        assert here.best is not None, "a turn has a best"
        along, until = scale.along(here.number), scale.along(then.number if then else scale.last)
        down = scale.down(here.best)
        lines.append((percent(along), percent(until), _pixels(down), _pixels(down)))
        if then is not None and then.best is not None:
            lines.append((percent(until), percent(until), _pixels(down), _pixels(scale.down(then.best))))
    return format_html_join("", '<line class="so-far" x1="{}%" x2="{}%" y1="{}" y2="{}"/>', lines)


def _point(step: Step, metric: Metric, study: Study, scale: Scale) -> SafeString:
    along = percent(scale.along(step.number))
    trial = step.trial
    if step.value is not None:
        is_best = trial in study.best
        return format_html(
            '<circle class="point{}" cx="{}%" cy="{}" r="{}"><title>{}: {} {}</title></circle>',
            " best" if is_best else "", along, _pixels(scale.down(step.value)), 6 if is_best else 4,
            _("Trial %(trial)s") % {"trial": trial.trial_id}, metric.id, value_text(step.value),
        )  # fmt: skip
    if trial.state == "INFEASIBLE":
        return format_html(
            '<svg class="point failed" x="{}%" y="{}" overflow="visible"><title>{}</title>'
            '<path d="M-3.5-3.5l7 7M3.5-3.5l-7 7"/></svg>',
            along, GROUND, _("Trial %(trial)s failed") % {"trial": trial.trial_id},
        )  # fmt: skip
    return format_html(
        '<circle class="point open" cx="{}%" cy="{}" r="3.5"><title>{}</title></circle>',
        along, GROUND, _("Trial %(trial)s: no result yet") % {"trial": trial.trial_id},
    )  # fmt: skip


def _label(study: Study, metric: Metric, steps: Sequence[Step]) -> str:
    """Return the label that describes the chart."""
    last = steps[-1].best
    goal = _("more is better") if metric.is_more_better else _("less is better")
    count = sum(step.value is not None for step in steps)
    known = {"metric": metric.id, "goal": goal, "count": count, "trials": len(study.trials)}
    if last is None:
        return _("%(metric)s by trial (%(goal)s): %(count)s of %(trials)s trials have a result.") % known
    known["best"] = value_text(last)
    return _("%(metric)s by trial (%(goal)s): %(count)s of %(trials)s trials have a result, the best %(best)s.") % known


def _pixels(value: float) -> str:
    return f"{value:.1f}"
