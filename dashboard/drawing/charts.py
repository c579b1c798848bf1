"""Small SVG charts: bars over time, and ranges with a point. Each has a text label, and a table shows the same values.

Horizontal positions are percentages of the width, so that a drawing fits any screen and its text keeps its size.
Vertical positions are pixels. Colours are CSS classes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

HEIGHT, TOP, FOOT = 138, 14, 18
GAP = 0.3
"""Space between two bars, as a share of the space per bar."""
ROW = 32
"""Height in pixels of a row of ranges: the name, and the bar below it."""
MAX_BAR = 12
"""Maximum width of a bar in percent of the chart, so that one day does not look like a wall."""
MAX_NAME = 32
"""Maximum characters of a name. The title has the full name."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its tooltip, and (class, value) of its parts from the bottom up."""

    title: str
    parts: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Range:
    """One row: from `low` to `high` with a point at `middle`, in the chart's unit."""

    name: str
    look: str
    low: float
    middle: float
    high: float
    title: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A position on an axis and its text."""

    at: float
    text: str


def draw_bars(bars: Sequence[Bar], label: str, top: str, ends: tuple[str, str], *, height: int = HEIGHT) -> SafeString:
    """Return bars side by side.

    `top` labels the highest value, `ends` are the texts below the first and the last bar. `height` is in pixels.
    """
    ground = height - FOOT
    most = max((sum(value for _, value in bar.parts) for bar in bars), default=0) or 1
    share = 100 / max(len(bars), 1)
    return format_html(
        '<svg class="chart" role="img" aria-label="{}" height="{}"><text y="10">{}</text>'
        '<line class="grid-line" x2="100%" y1="{}" y2="{}"/>{}<line class="axis-line" x2="100%" y1="{}" y2="{}"/>'
        '<text y="{}">{}</text><text x="100%" y="{}" text-anchor="end">{}</text></svg>',
        label,
        height,
        top,
        TOP,
        TOP,
        format_html_join(
            "", "{}", ((_bar(bar, place * share, share, most, ground),) for place, bar in enumerate(bars))
        ),
        ground,
        ground,
        height - 4,
        ends[0],
        height - 4,
        ends[1],
    )


def _bar(bar: Bar, x: float, share: float, most: float, ground: int) -> SafeString:
    parts, y = [], float(ground)
    for look, value in bar.parts:
        height = (ground - TOP) * value / most
        if height > 0:
            y -= height
            width = min(share * (1 - GAP), MAX_BAR)
            parts.append(
                (look, f"{x + (share - width) / 2:.2f}%", f"{width:.2f}%", f"{y:.1f}", f"{max(height - 0.6, 0.4):.1f}")
            )
    drawn = format_html_join("", '<rect class="{}" x="{}" width="{}" y="{}" height="{}"/>', parts)
    return format_html("<g><title>{}</title>{}</g>", bar.title, drawn)


def draw_ranges(rows: Sequence[Range], ticks: Sequence[Tick], label: str, *, is_log: bool = False) -> SafeString:
    """Return rows below each other on one axis that spans from the first tick to the last."""
    low, high = ticks[0].at, ticks[-1].at

    def across(value: float) -> float:
        value = min(max(value, low), high)
        share = math.log(value / low) / math.log(high / low) if is_log else (value - low) / (high - low)
        return 100 * share

    foot = len(rows) * ROW
    return format_html(
        '<svg class="chart" role="img" aria-label="{}" height="{}">{}{}'
        '<line class="axis-line" x2="100%" y1="{}" y2="{}"/>{}</svg>',
        label,
        foot + 18,
        format_html_join(
            "", '<line class="grid-line" x1="{0}%" x2="{0}%" y2="{1}"/>', ((f"{across(t.at):.2f}", foot) for t in ticks)
        ),
        format_html_join("", "{}", ((_range(row, place, across(row.low), across(row.middle), across(row.high)),)
                                    for place, row in enumerate(rows))),
        foot,
        foot,
        format_html_join(
            "",
            '<text x="{}%" y="{}" text-anchor="{}">{}</text>',
            ((f"{across(t.at):.2f}", foot + 13, _anchor(t, ticks), t.text) for t in ticks),
        ),
    )  # fmt: skip


def _anchor(tick: Tick, ticks: Sequence[Tick]) -> str:
    return "start" if tick is ticks[0] else "end" if tick is ticks[-1] else "middle"


def _range(row: Range, place: int, low: float, middle: float, high: float) -> SafeString:
    y = place * ROW
    name = row.name if len(row.name) <= MAX_NAME else f"{row.name[: MAX_NAME - 1]}…"
    return format_html(
        '<g><title>{}</title><text class="name" y="{}">{}</text>'
        '<rect class="{}" x="{}%" width="{}%" y="{}" height="8" rx="4"/>'
        '<circle class="dot" cx="{}%" cy="{}" r="4"/></g>',
        row.title, y + 12, name, row.look, f"{low:.2f}", f"{max(high - low, 0.4):.2f}", y + 18, f"{middle:.2f}", y + 22,
    )  # fmt: skip


def round_up(value: float) -> float:
    """Return the smallest of 1, 2 or 5 times a power of ten that is at least `value`, a positive number."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * (1 - 1e-9))
