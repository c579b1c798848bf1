"""The template library of the site, loaded as builtins: it only names what the modules beside it draw."""

from datetime import datetime, timedelta

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.drawing import figures, marks, timeline
from jobs.timeline import Span

register = template.Library()

register.filter("duration", figures.duration)
register.filter("money", figures.money)
register.filter("state_word", marks.state_word)
register.filter("look", marks.look_of)
register.filter("state", marks.state_mark)
register.simple_tag(timeline.draw, name="timeline")
register.simple_tag(marks.shape, name="shape")
register.simple_tag(marks.pips, name="pips")
register.simple_tag(marks.meter, name="meter")


@register.filter
def ago(moment: datetime | None, now: datetime) -> SafeString:
    """Return how long ago as a <time> that tells the exact moment on hover."""
    if moment is None:
        return SafeString("never")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        figures.iso(moment),
        figures.moment_text(moment),
        figures.ago(moment, now),
    )


@register.filter
def moment(value: datetime | None) -> SafeString:
    """Return the moment with day and time in UTC as a <time>."""
    if value is None:
        return SafeString("–")
    return format_html('<time datetime="{}">{}</time>', figures.iso(value), figures.moment_text(value))


@register.filter
def day(value: datetime | None) -> SafeString:
    """Return the day in UTC as a <time>."""
    if value is None:
        return SafeString("–")
    at = figures.utc(value)
    return format_html('<time datetime="{}">{}</time>', figures.iso(value), f"{at.day} {at:%b %Y}")


@register.filter
def clock(value: datetime | None) -> SafeString:
    """Return the time of day in UTC as a <time> with the whole moment on hover."""
    if value is None:
        return SafeString("–")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        figures.iso(value),
        figures.moment_text(value),
        f"{figures.utc(value):%H:%M:%S}",
    )


@register.filter
def within(part: timedelta, whole: timedelta) -> float:
    """Return `part` as a share of `whole`; a whole of nothing is full."""
    return part / whole if whole else 1.0


@register.filter
def since(moment: datetime | None, now: datetime) -> str:
    """Return the length of time from `moment` to `now`."""
    return figures.duration(now - moment) if moment else "–"


@register.simple_tag
def span_length(span: Span, now: datetime) -> str:
    """Return how long a span of a timeline lasted, or has lasted by `now`."""
    return figures.duration(span.length(now))
