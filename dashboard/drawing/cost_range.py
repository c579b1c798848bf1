"""The range of an estimate as SVG, on one axis for all strategies, with the amounts as its label."""

from decimal import Decimal
from typing import Protocol

from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.drawing.figures import money

MIN_WIDTH = 1.5
"""Minimum width of a range in percent of the axis, so that it is visible."""


class Priced(Protocol):
    """The amounts of an estimate, the right end of the axis, and the strategy, which determines the colour."""

    key: str
    low_usd: Decimal | None
    expected_usd: Decimal | None
    high_usd: Decimal | None
    axis_usd: Decimal


def draw(priced: Priced) -> SafeString:
    """Return the range from low to high with a mark at the expected amount. Return "" if a price is not known."""
    low, expected, high = priced.low_usd, priced.expected_usd, priced.high_usd
    if low is None or expected is None or high is None or not priced.axis_usd:
        return SafeString("")
    left, middle, right = (min(100.0, float(usd / priced.axis_usd) * 100) for usd in (low, expected, high))
    return format_html(
        '<svg class="cost-range" role="img" aria-label="{label}"><rect class="track" y="5" width="100%" height="4"/>'
        '<rect class="hue {key}" x="{left}%" width="{width}%" y="3" height="8" rx="2"/>'
        '<rect class="expected" x="{middle}%" width="2" height="14"/></svg>',
        label=f"{money(low)} – {money(high)}",
        key=priced.key,
        left=f"{min(left, 100 - MIN_WIDTH):.1f}",
        width=f"{max(right - left, MIN_WIDTH):.1f}",
        middle=f"{min(middle, 99.0):.1f}",
    )
