"""Intermediate values of each trial of a study: one line of a metric per trial, over steps or running time.

Horizontal positions are thousandths of the width, vertical ones pixels. The table beside the chart has each trial's
first, last and best value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import value_text
from dashboard.drawing.study_chart import HEIGHT, Scale, plot
from jobs.models import Trial
from jobs.timeline import Metric, Study

MAX_TRIALS = 40
"""Maximum lines that are drawn. The trials with the best results are chosen."""
MAX_ACROSS = 1e300


@dataclass(frozen=True, slots=True)
class TrialCurve:
    """Intermediate values of one trial: `points` of (step or seconds, value). `is_best` if no other trial is better."""

    trial: Trial
    points: tuple[tuple[float, float], ...]
    is_best: bool
    best: float

    @property
    def first(self) -> float:
        """The first value."""
        return self.points[0][1]

    @property
    def last(self) -> float:
        """The latest value."""
        return self.points[-1][1]


@dataclass(frozen=True, slots=True)
class TrialCurves:
    """The curves of one metric, over steps if `by_step`, else over the seconds that a trial has run."""

    curves: tuple[TrialCurve, ...]
    by_step: bool
    left_out: int


def curves_of(study: Study, metric: Metric | None) -> TrialCurves | None:
    """Return the curves of a metric, at most MAX_TRIALS. Return None if no trial reported two intermediate values."""
    if metric is None:
        return None
    measured = [(trial, _values(trial, metric)) for trial in study.trials]
    by_step = all(step is not None for _, values in measured for step, _, _ in values)
    best = max if metric.is_more_better else min
    found = []
    for trial, values in measured:
        across = [(step if by_step else seconds, value) for step, seconds, value in values]
        points = [(float(at), value) for at, value in across if at is not None]
        if len(points) > 1:
            found.append(TrialCurve(trial, tuple(sorted(points)), trial in study.best, best(v for at, v in points)))
    if not found:
        return None
    found.sort(key=lambda curve: curve.best, reverse=metric.is_more_better)
    return TrialCurves(tuple(found[:MAX_TRIALS]), by_step, max(len(found) - MAX_TRIALS, 0))


def _values(trial: Trial, metric: Metric) -> list[tuple[int | None, float | None, float]]:
    rows: Sequence[tuple[int | None, float | None, dict[str, float]]] = trial.measurements or ()
    return [(step, seconds, metrics[metric.id]) for step, seconds, metrics in rows if metric.id in metrics]


def draw_curves(found: TrialCurves | None, metric: Metric | None) -> SafeString:
    """Return the chart. Return "" if there are no curves."""
    if found is None or metric is None:
        return SafeString("")
    scale = Scale([value for curve in found.curves for at, value in curve.points], [1])
    low = min(min(curve.points[0][0], MAX_ACROSS) for curve in found.curves)
    high = max(min(curve.points[-1][0], MAX_ACROSS) for curve in found.curves)
    known = {"metric": metric.id, "trials": len(found.curves), "low": value_text(low), "high": value_text(high)}
    if found.by_step:
        label, unit = _("%(metric)s of %(trials)s trials, step %(low)s to %(high)s."), _("step %(number)s")
    else:
        label, unit = _("%(metric)s of %(trials)s trials, second %(low)s to %(high)s."), _("second %(number)s")
    curves = format_html_join("", "{}", ((_path(curve, scale, low, high),) for curve in reversed(found.curves)))
    return plot_across(scale, label % known, curves, [unit % {"number": value_text(at)} for at in (low, high)])


def plot_across(scale: Scale, label: str, curves: SafeString, ends: Sequence[str]) -> SafeString:
    """Return the plot of curves whose horizontal positions are thousandths; `ends` are the words at its two ends."""
    drawn = format_html(
        '<svg width="100%" height="{0}" viewBox="0 0 1000 {0}" preserveAspectRatio="none">{1}</svg>', HEIGHT, curves
    )
    words = format_html_join(
        "",
        '<text class="axis" x="{}%" y="{}" text-anchor="{}">{}</text>',
        ((x, HEIGHT - 4, anchor, end) for x, anchor, end in zip((0, 100), ("start", "end"), ends, strict=True)),
    )
    return plot(scale, label, drawn, words)


def places(points: Sequence[tuple[float, float]], scale: Scale, low: float, high: float) -> list[str]:
    """Return the positions of points in the plot as "x y"; `low` and `high` are at its two ends."""
    size = high - low or 1.0
    return [f"{1000 * (min(at, MAX_ACROSS) - low) / size:.1f} {scale.down(value):.1f}" for at, value in points]


def _path(curve: TrialCurve, scale: Scale, low: float, high: float) -> SafeString:
    return format_html(
        '<path class="trial-curve{}" vector-effect="non-scaling-stroke" d="M{}"><title>{}</title></path>',
        " best" if curve.is_best else "",
        "L".join(places(curve.points, scale, low, high)),
        _("Trial %(trial)s: at last %(value)s") % {"trial": curve.trial.trial_id, "value": value_text(curve.last)},
    )
