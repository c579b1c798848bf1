"""Time as horizontal position in a drawing: percentages, round hours, the axis below, and the line of the current time.

All drawings over time on one page share one scale, so that a time has the same position in all of them.
"""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import dated, local

STEPS = tuple(
    timedelta(seconds=seconds)
    for seconds in (
        *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200),
        *(10_800, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_592_000),
    )
)
PIECES = 5
NEAR_NOW = 6.0
"""Minimum distance between an hour and the word "now" in percent of the width. Closer hours are omitted."""
ROOM_FOR_AXIS = "w500"
"""CSS class of the texts that are hidden on a narrower axis: every second hour."""


class Scale:
    """Turns times into percentages of the drawing's width.

    `now` is where open spans end, None for the end of the scale. Round times divide the axis into at most `pieces`.
    """

    def __init__(self, start: datetime, end: datetime, now: datetime | None = None, pieces: int = PIECES) -> None:
        self.start = start
        self.pieces = pieces
        self.length = max(end - start, timedelta(seconds=1))
        self.end = start + self.length
        self.now = min(now, self.end) if now is not None else self.end

    def at(self, moment: datetime) -> float:
        """Return the position of `moment`, 0 to 100. Times outside the scale are at its edge."""
        return min(100.0, max(0.0, 100 * ((moment - self.start) / self.length)))

    def holds(self, start: datetime, end: datetime | None) -> bool:
        """Return whether any part of a period is drawn. `end` None is now."""
        return start <= self.end and (end or self.now) >= self.start


def grid(scale: Scale, height: int) -> SafeString:
    """Return the lines of the hours through one row of the drawing. `height` is in pixels."""
    return format_html_join(
        "",
        '<line class="grid-line" x1="{0}%" x2="{0}%" y1="0" y2="{1}"/>',
        ((percent(scale.at(tick)), height) for tick in ticks(scale)),
    )


def now_line(scale: Scale, height: int) -> SafeString:
    """Return the line of the current time. Return "" if the drawing ends with it."""
    if scale.now >= scale.end:
        return SafeString("")
    return format_html(
        '<line class="now-line" x1="{0}%" x2="{0}%" y1="0" y2="{1}"/>', percent(scale.at(scale.now)), height
    )


def axis(scale: Scale, near_now: float = NEAR_NOW) -> SafeString:
    """Return the hours below the drawing, and "now" if it is inside. `near_now` is larger for a narrow drawing."""
    step = step_of(scale)
    return format_html(
        '<svg class="times-axis" aria-hidden="true" width="100%" height="16">{}{}</svg>',
        format_html_join(
            "",
            '<text class="{}" x="{}%" y="12" text-anchor="{}">{}</text>',
            (
                (ROOM_FOR_AXIS if place % 2 else "", percent(share), anchor(share), hour(tick, step))
                for place, tick in enumerate(ticks(scale))
                for share in [scale.at(tick)]
                if not _hides(share, scale, near_now)
            ),
        ),
        _now(scale),
    )


def _now(scale: Scale) -> SafeString:
    if scale.now >= scale.end:
        return SafeString("")
    share = scale.at(scale.now)
    return format_html(
        '<text class="now" x="{}%" y="12" text-anchor="{}">{}</text>', percent(share), anchor(share), _("now")
    )


def _hides(share: float, scale: Scale, near_now: float) -> bool:
    """Return whether an hour would overlap the word "now"."""

    def middle(share: float) -> float:  # of a text, which at an edge begins or ends at its place
        return share + {"start": near_now / 2, "end": -near_now / 2}.get(anchor(share), 0)

    return scale.now < scale.end and abs(middle(share) - middle(scale.at(scale.now))) < near_now


def anchor(share: float, margin: float = 4) -> str:
    """Return the text-anchor for a tick's text, so that the text stays inside the drawing.

    Texts closer to an edge than `margin` percent are aligned with their start or end.
    """
    return "start" if share < margin else "end" if share > 100 - margin else "middle"


def step_of(scale: Scale) -> timedelta:
    """Return the round step that divides the scale into at most `scale.pieces` pieces."""
    return next((step for step in STEPS if scale.length / step <= scale.pieces), STEPS[-1])


def ticks(scale: Scale) -> Iterator[datetime]:
    """Yield the round times inside the drawing, counted from the reader's midnight on its first day.

    Steps shorter than a day are counted in UTC, where all hours have the same length. Days are those of the reader's
    time zone, where one day a year has 23 hours.
    """
    step = step_of(scale)
    midnight = local(scale.start).replace(hour=0, minute=0, second=0, microsecond=0)
    begin = midnight if step >= timedelta(days=1) else midnight.astimezone(UTC)
    for number in itertools.count((scale.start - begin) // step):
        tick = (begin + number * step).astimezone(UTC)
        if tick > scale.end:
            return
        if tick >= scale.start:
            yield tick


def hour(tick: datetime, step: timedelta) -> str:
    """Return the text of a tick. At midnight it is the day, so that hours of two days can be distinguished."""
    at = local(tick)
    if step >= timedelta(days=1) or (step >= timedelta(minutes=1) and (at.hour, at.minute) == (0, 0)):
        return dated(at, "j M")
    return f"{at:%H:%M:%S}" if step < timedelta(minutes=1) else f"{at:%H:%M}"


def percent(share: float) -> str:
    """Return a percentage of the width for an attribute, without the sign."""
    return f"{share:.2f}"
