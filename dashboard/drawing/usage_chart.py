"""Usage of a persistent resource: a lane per replica, holds as bars, and billed time without a hold hatched.

Horizontal positions are percentages of the lanes, vertical ones pixels. Jobs of other teams have no name.
"""

from datetime import datetime, timedelta

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.drawing.figures import duration, local, percent, zone
from dashboard.drawing.scale import Scale, anchor, grid, hour, step_of, ticks
from jobs.models import Job
from jobs.timeline import Hold, ReplicaLane, Usage

LANE, BAR = 26, 18
MIN_NAMED = 9.0
"""Minimum width in percent of a bar that shows the name of its job."""
NEAR_NOW = 10.0
"""Minimum distance between an hour and the word "now" in percent."""


def draw_usage(usage: Usage, name: str) -> SafeString:
    """Return the chart of one resource. Return "" if it has no replica or no time has passed.

    Times in which a replica was not billed, such as before it was provisioned, are empty.
    """
    if not usage.lanes or usage.until <= usage.since:
        return SafeString("")
    foot = len(usage.lanes) * LANE + 4
    used = percent(usage.share)
    known = {"name": name, "length": duration(usage.until - usage.since), "share": used}
    label = _("%(name)s, the last %(length)s: its replicas were held %(share)s of the time.") % known
    scale = Scale(usage.since, usage.until)
    names = ((place * LANE + 17, _("replica %(number)s") % {"number": place}) for place in range(len(usage.lanes)))
    return format_html(
        '<svg class="chart usage" role="img" aria-label="{}" height="{}">{}{}{}{}'
        '<line class="axis-line" x2="100%" y1="{}" y2="{}"/><line class="now-line" x1="100%" x2="100%" y2="{}"/>'
        "</svg>",
        label,
        foot + 18,
        format_html_join("", '<text x="-72" y="{}">{}</text>', names),
        grid(scale, foot),
        format_html_join("", "{}", ((_lane(lane, place, usage),) for place, lane in enumerate(usage.lanes))),
        _hours(scale, foot + 14),
        foot,
        foot,
        foot,
    )


def _lane(lane: ReplicaLane, place: int, usage: Usage) -> SafeString:
    y = place * LANE + 4
    bars = format_html_join("", "{}", ((_hold(hold, y, usage),) for hold in lane.holds))
    spans = [(_across(start, usage), _across(end, usage)) for start, end in usage.billed(lane)]
    idle = format_html_join(
        "",
        '<rect class="idle" x="{}%" width="{}%" y="{}" height="{}" rx="2"/>',
        ((f"{start:.2f}", f"{end - start:.2f}", y, BAR) for start, end in spans),
    )
    return format_html("{}{}", idle, bars)


def _hold(hold: Hold, y: int, usage: Usage) -> SafeString:
    start, end = _across(hold.start, usage), _across(hold.end or usage.until, usage)
    name = name_of(hold.job)
    until = f"{local(hold.end):%H:%M}" if hold.end else _("now")
    title = _("%(name)s: %(start)s to %(end)s %(zone)s") % {
        "name": name,
        "start": f"{local(hold.start):%H:%M}",
        "end": until,
        "zone": zone(hold.start),
    }
    width = max(end - start, 0.15)
    text = format_html('<text class="on-bar" x="{}%" y="{}">{}</text>', f"{start + 0.5:.2f}", y + 13, name[:18])
    return format_html(
        '<g><title>{}</title><rect class="bar-run" x="{}%" width="{}%" y="{}" height="{}" rx="2"/>{}</g>',
        title, f"{start:.2f}", f"{width:.2f}", y, BAR, text if width >= MIN_NAMED else "",
    )  # fmt: skip


def name_of(job: Job) -> str:
    """Return the name of a job, or that it belongs to another team."""
    return job.display_name if getattr(job, "is_shown", False) else _("a job of another team")


def _hours(scale: Scale, y: int) -> SafeString:
    """Return the round hours below the lanes, and "now" at their end."""
    step = step_of(scale)
    shown = [(scale.at(tick), hour(tick, step)) for tick in ticks(scale)]
    texts = [(f"{at:.2f}", anchor(at), text) for at, text in shown if at < 100 - NEAR_NOW]
    return format_html_join(
        "",
        '<text x="{}%" y="{}" text-anchor="{}">{}</text>',
        ((x, y, where, text) for x, where, text in [*texts, ("100", "end", _("now"))]),
    )


def _across(moment: datetime, usage: Usage) -> float:
    share = max(moment - usage.since, timedelta()) / (usage.until - usage.since)
    return 100 * min(share, 1.0)
