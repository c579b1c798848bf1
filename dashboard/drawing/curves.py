"""Curves below the lanes, on the axis of the timeline: a metric, the cost, what of the machines was used. Server-drawn.

Across, points are thousandths of the width; lines keep their weight however wide they are drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.drawing.scale import Scale, grid, now_line, percent

WIDTH = 1_000
TOP = 5
"""Pixels that stay free above and below a curve."""
MAX_SIZE = 1e300
"""Larger values are drawn there, for the distance of two must be a number."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One row: `lines` of (moment, value), each drawn by itself; `expected` is the dashed end of the last one.

    `low` and `high`: what stands at the foot and the top, as text; `floor`: the least value that is drawn at the foot,
    None for the smallest of the curve. `label` says the curve in words.
    """

    name: str
    label: str
    look: str
    lines: Sequence[Sequence[tuple[datetime, float]]]
    low: str = ""
    high: str = ""
    expected: tuple[datetime, float] | None = None
    floor: float | None = None
    height: int = 64


def draw_curve(curve: Curve, scale: Scale) -> SafeString:
    """Return the row of a curve: its name, its highest and lowest value, and the curve."""
    shown = [[point for point in line if scale.start <= point[0] <= scale.end] for line in curve.lines]
    ends = [*(value for line in shown for _, value in line), *([curve.expected[1]] if curve.expected else [])]
    return format_html(
        '<div class="lane plot-lane"><span class="lane-name">{}{}{}</span><div class="track">'
        '<svg role="img" aria-label="{}" width="100%" height="{}">{}{}{}</svg></div></div>',
        curve.name,
        format_html("<small>{}</small>", curve.high) if curve.high else "",
        format_html('<small class="low">{}</small>', curve.low) if curve.low else "",
        curve.label,
        curve.height,
        grid(scale, curve.height),
        _paths(curve, shown, scale, ends) if ends else "",
        now_line(scale, curve.height),
    )


def _paths(
    curve: Curve, shown: Sequence[Sequence[tuple[datetime, float]]], scale: Scale, ends: Sequence[float]
) -> SafeString:
    """Return the lines as paths, a lone point as a dot, and the expected end as a dashed line."""
    low = min(_held(min(ends)), _held(curve.floor) if curve.floor is not None else MAX_SIZE)
    high = _held(max(ends))
    size = high - low or 1.0

    def place(point: tuple[datetime, float]) -> tuple[float, float]:
        down = curve.height - TOP - (_held(point[1]) - low) / size * (curve.height - 2 * TOP)
        return scale.at(point[0]) * WIDTH / 100, down

    paths = [("curve", [place(point) for point in line]) for line in shown if len(line) > 1]
    last = next((line[-1] for line in reversed(shown) if line), None)
    if curve.expected is not None and last is not None:
        paths.append(("curve expected", [place(last), place(curve.expected)]))
    dots = [place(line[0]) for line in shown if len(line) == 1]
    return format_html(
        '<svg width="100%" height="{0}" viewBox="0 0 1000 {0}" preserveAspectRatio="none">{1}</svg>{2}',
        curve.height,
        format_html_join(
            "",
            '<path class="{} {}" vector-effect="non-scaling-stroke" d="M{}"/>',
            ((kind, curve.look, "L".join(f"{x:.1f} {y:.1f}" for x, y in points)) for kind, points in paths),
        ),
        format_html_join(
            "",
            '<circle class="dot {}" cx="{}%" cy="{}" r="2.5"/>',
            ((curve.look, percent(x / 10), f"{y:.1f}") for x, y in dots),
        ),
    )


def _held(value: float) -> float:
    return min(max(value, -MAX_SIZE), MAX_SIZE)
