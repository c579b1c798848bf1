"""Chart of the amounts of an approval on one axis: expected range, maximum, and limit that requires approval."""

from collections.abc import Iterator
from decimal import Decimal

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import money
from dashboard.drawing.scale import anchor
from jobs.models import Job

TRACK_TOP, TRACK_HEIGHT, HEIGHT = 36, 14, 84
ROOM = Decimal("1.04")
MARGIN = 15


def draw_amounts(job: Job) -> SafeString:
    """Return the chart of a job's estimate. Return "" if no price is known."""
    expected = job.estimate_usd
    low, high = (_amount(job.estimate.get(name)) for name in ("low_usd", "high_usd"))
    known = [each for each in (expected, low, high, job.max_usd, job.limit_usd) if each is not None]
    if expected is None or not known or max(known) <= 0:
        return SafeString("")
    scale = max(known) * ROOM
    low, high = low if low is not None else expected, high if high is not None else expected
    return format_html(
        '<svg class="chart amounts" role="img" aria-label="{}" height="{}">'
        '<rect class="track" y="{}" width="100%" height="{}" rx="3"/>'
        '<rect class="hue {}" x="{}%" width="{}%" y="{}" height="{}" rx="3"/>{}'
        '<rect class="dot" x="{}%" width="3" y="{}" height="26"/>'
        '<text class="now" x="{}%" y="22" text-anchor="{}">{}</text></svg>',
        _label(job, low, high),
        HEIGHT,
        TRACK_TOP,
        TRACK_HEIGHT,
        job.strategy,
        _at(low, scale),
        max(_at(high, scale) - _at(low, scale), 0.5),
        TRACK_TOP,
        TRACK_HEIGHT,
        format_html_join("", "{}", ((mark,) for mark in _marks(job, scale))),
        _at(expected, scale),
        TRACK_TOP - 6,
        _at(expected, scale),
        anchor(_at(expected, scale), MARGIN),
        _("%(usd)s expected") % {"usd": money(expected)},
    )


def _marks(job: Job, scale: Decimal) -> Iterator[SafeString]:
    """Yield the approval limit and the maximum cost, each as a line with its text, one below the other."""
    marks = [("limit", job.limit_usd, _("%(usd)s asks"), 66), ("most", job.max_usd, _("%(usd)s at most"), 80)]
    for name, usd, words, y in marks:
        if usd is not None:
            x = _at(usd, scale)
            yield format_html(
                '<line class="{0}-line" x1="{1}%" x2="{1}%" y1="{2}" y2="{3}"/>'
                '<text x="{1}%" y="{4}" text-anchor="{5}">{6}</text>',
                name, x, TRACK_TOP - 4, y - 11, y, anchor(x, MARGIN), words % {"usd": money(usd)},
            )  # fmt: skip


def _at(usd: Decimal, scale: Decimal) -> float:
    """Return the position of an amount in percent of the width."""
    return round(float(usd / scale * 100), 2)


def _amount(text: object) -> Decimal | None:
    return Decimal(text) if isinstance(text, str) and text else None


def _label(job: Job, low: Decimal, high: Decimal) -> str:
    expected = {"usd": money(job.estimate_usd), "low": money(low), "high": money(high)}
    parts = [_("Expected %(usd)s, %(low)s to %(high)s") % expected]
    parts += [_("at most %(usd)s") % {"usd": money(job.max_usd)}] if job.max_usd is not None else []
    parts += [_("a limit of %(usd)s asks") % {"usd": money(job.limit_usd)}] if job.limit_usd is not None else []
    return "; ".join(parts) + "."
