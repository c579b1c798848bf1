"""Curves below the lanes on the timeline's axis: a metric, the cost, or machine usage. Rendered on the server.

Horizontal positions are thousandths of the width. Lines keep their stroke width at any size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.drawing.scale import Scale, grid, now_line, percent

Line = Sequence[tuple[datetime, float]]
"""Points in order of time."""

WIDTH = 1_000
TOP = 5
"""Pixels left free above and below a curve."""
MAX_SIZE = 1e300
"""Larger values are drawn at this value, because the distance between two values must be finite."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One row: `lines` of (time, value), each drawn separately. `expected` is the dashed end of the last line.

    `low` and `high` are the texts at the bottom and the top. `floor` and `ceiling` are values that the axis includes at
    least, None to use only those of the curve. `label` describes the curve in words.
    """

    name: str
    label: str
    look: str
    lines: Sequence[Line]
    low: str = ""
    high: str = ""
    expected: tuple[datetime, float] | None = None
    floor: float | None = None
    ceiling: float | None = None
    height: int = 64


def draw_curve(curve: Curve, scale: Scale) -> SafeString:
    """Return the row of a curve: its name, its highest and lowest value, and the curve."""
    shown = clipped(curve.lines, scale)
    ends = [*(value for line in shown for _, value in line), *([curve.expected[1]] if curve.expected else [])]
    ends += [each for each in (curve.floor, curve.ceiling) if each is not None and ends]
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


def clipped(lines: Sequence[Line], scale: Scale) -> list[Line]:
    """Return the part of each line inside the scale. A line that began before it starts at its edge.

    Omit empty lines.
    """
    found: list[Line] = []
    for line in lines:
        shown = [point for point in line if scale.start <= point[0] <= scale.end]
        before = [point for point in line if point[0] < scale.start][-1:]
        if before and shown and shown[0][0] > scale.start:
            # Interpolate between the last point before the edge and the first one after it.
            (before_at, before_value), (first_at, first_value) = before[0], shown[0]
            share = (scale.start - before_at) / (first_at - before_at)
            edge = _held(before_value) * (1 - share) + _held(first_value) * share
            shown = [(scale.start, edge), *shown]
        found += [shown] if shown else []
    return found


def _paths(curve: Curve, shown: Sequence[Line], scale: Scale, ends: Sequence[float]) -> SafeString:
    """Return lines as paths, single points as dots, and the expected end as a dashed line."""
    low, high = _held(min(ends)), _held(max(ends))
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
