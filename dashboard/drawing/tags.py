"""The template library of the site, loaded as builtins: it only names what the modules beside it draw."""

from datetime import datetime, timedelta

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.drawing import figures, findings, marks, replicas, study_chart, timeline
from jobs.models import Trial
from jobs.timeline import Metric, Span, value_of

register = template.Library()

register.filter("duration", figures.duration)
register.filter("money", figures.money)
register.filter("value", figures.value_text)
register.filter("day_of", figures.day_of)
register.simple_tag(figures.between, name="between")
register.filter("trial_state", marks.trial_mark)
register.filter("state_word", marks.state_word)
register.filter("look", marks.look_of)
register.filter("state", marks.state_mark)
register.filter("machines", marks.machines)
register.filter("resource_state", replicas.resource_mark)
register.simple_tag(timeline.draw, name="timeline")
register.simple_tag(study_chart.draw, name="study_chart")
register.simple_tag(findings.finding, name="finding")
register.simple_tag(marks.shape, name="shape")
register.simple_tag(marks.pips, name="pips")
register.simple_tag(marks.meter, name="meter")
register.simple_tag(replicas.replicas, name="replicas")


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


@register.simple_tag
def trial_value(trial: Trial, metric: Metric) -> str:
    """Return what a trial reached by a metric."""
    return figures.value_text(value_of(trial, metric))
