"""The template library of the site, loaded as builtins. It only registers functions of the modules beside it."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import gettext as _

from dashboard.drawing import (
    approval_chart,
    cost_range,
    figures,
    findings,
    history_charts,
    job_curves,
    marks,
    parallel_chart,
    replicas,
    restart_marks,
    scatter_chart,
    sources,
    spend_charts,
    study_chart,
    terminal,
    timeline,
    trial_curves,
    usage_chart,
)
from jobs.cost.prices import age_words, old_parts
from jobs.models import Trial
from jobs.strategies import strategy_label
from jobs.timeline import Metric, Span, fault_title, value_of, wait_percentile
from jobs.translations import translated

register = template.Library()

register.filter("translated", translated)
register.filter("dated", figures.dated, expects_localtime=True)
register.filter("duration", figures.duration)
register.simple_tag(figures.duration_range, name="duration_range")
register.filter("money", figures.money)
register.filter("hourly_price", figures.hourly_price)
register.filter("exact_price", figures.exact_price)
register.filter("billed", figures.billed)
register.filter("rough_money", figures.rough_money)
register.filter("spent", figures.spent)
register.filter("difference", figures.difference)
register.filter("estimated", figures.estimated)
register.filter("iso", figures.iso)
register.filter("moment_text", figures.moment_text)
register.filter("at_time", figures.at_time)
register.filter("time_only", figures.time_only)
register.filter("zone", figures.zone)
register.filter("value", figures.value_text)
register.filter("day_of", figures.day_of)
register.filter("source_link", sources.source_link)
register.simple_tag(figures.between, name="between")
register.simple_tag(figures.longest, name="longest")
register.filter("trial_state", marks.trial_mark)
register.filter("state_word", marks.state_word)
register.filter("role_word", marks.role_word)
register.filter("person_name", marks.person_name)
register.filter("outcome_word", marks.outcome_word)
register.filter("tag_word", marks.tag_word)
register.filter("state", marks.state_mark)
register.filter("machines", marks.machines)
register.filter("resource_state", replicas.resource_mark)
register.simple_tag(timeline.draw, name="timeline")
register.filter("fault_title", fault_title)
register.filter("has_assumed", timeline.has_assumed)
register.filter("log_line", terminal.render_line)
register.filter("sign", restart_marks.shape_of)
register.simple_tag(study_chart.draw, name="study_chart")
register.simple_tag(history_charts.draw_outcomes, name="outcome_chart")
register.simple_tag(history_charts.draw_spending, name="spending_chart")
register.simple_tag(spend_charts.draw_month, name="month_chart")
register.simple_tag(spend_charts.draw_days, name="day_chart")
register.simple_tag(spend_charts.draw_budget, name="budget_bar")
register.simple_tag(spend_charts.draw_after, name="budget_after")
register.simple_tag(spend_charts.draw_share, name="share_bar")
register.simple_tag(history_charts.draw_waits, name="wait_chart")
register.simple_tag(history_charts.draw_preemptions, name="preemption_chart")
register.filter("amounts", approval_chart.draw_amounts)
register.simple_tag(usage_chart.draw_usage, name="usage_chart")
register.simple_tag(parallel_chart.draw_parallel, name="parallel_chart")
register.simple_tag(scatter_chart.draw_scatter, name="scatter_chart")
register.simple_tag(trial_curves.draw_curves, name="trial_curves")
register.simple_tag(job_curves.draw_job_curves, name="job_curves")
register.filter("job_name", usage_chart.name_of)
register.filter("percentile", wait_percentile)
register.filter("strategy_label", strategy_label)
register.filter("thousands", figures.thousands)
register.filter("percent", figures.percent)
register.simple_tag(findings.render_finding, name="finding")
register.simple_tag(findings.render_shape, name="finding_shape")
register.filter("finding_language", findings.language_of)
register.filter("text_language", findings.text_language)
register.filter("severity_word", findings.severity_word)
register.simple_tag(cost_range.draw, name="cost_range")
register.simple_tag(marks.shape, name="shape")
register.simple_tag(marks.restart_bars, name="restart_bars")
register.simple_tag(marks.meter, name="meter")
register.simple_tag(replicas.replicas, name="replicas")


@register.filter
def ago(moment: datetime | None, now: datetime) -> SafeString:
    """Return the time since `moment` as a <time> with the exact time as tooltip."""
    if moment is None:
        return format_html("{}", _("never"))
    return _time(moment, figures.ago(moment, now))


def _time(moment: datetime, words: str) -> SafeString:
    """Return a <time> of these words with the exact time as tooltip."""
    exact = figures.moment_text(moment)
    return format_html('<time datetime="{}" title="{}">{}</time>', figures.iso(moment), exact, words)


@register.simple_tag
def price_age(as_of: date | str | None, now: datetime) -> SafeString:
    """Return a mark for a price that is older than 90 days, else "". `as_of` is a date or its ISO form.

    Every page with an estimate has it beside the date: `{% price_age estimate.prices_as_of now %}`.
    """
    if not as_of:
        return SafeString("")
    words = age_words(date.fromisoformat(as_of) if isinstance(as_of, str) else as_of, now.date())
    return format_html('<small class="stale">{}</small>', translated(words)) if words else SafeString("")


@register.simple_tag
def older_prices(estimates: Mapping[str, Any] | Iterable[Mapping[str, Any]], now: datetime) -> str:
    """Return a sentence that names what has an older price than the main price of its estimate, else "".

    `estimates` is one, or several, with `lines` and `prices_as_of` as in `Estimate.as_dict`. A page has the sentence
    once.
    """
    named: dict[date, list[str]] = {}
    for each in [estimates] if isinstance(estimates, Mapping) else estimates:
        for old, names in old_parts(each.get("lines") or (), each.get("prices_as_of"), now.date()).items():
            named[old] = list(dict.fromkeys([*named.get(old, ()), *names]))
    if not named:
        return ""
    parts = [
        _("%(names)s (%(day)s)") % {"names": ", ".join(names), "day": figures.dated(old, "j M Y")}
        for old, names in sorted(named.items())
    ]
    return _("Older prices: %(parts)s.") % {"parts": "; ".join(parts)}


@register.filter
def moment(value: datetime | None) -> SafeString:
    """Return date and time as a <time>."""
    if value is None:
        return SafeString("–")
    return format_html('<time datetime="{}">{}</time>', figures.iso(value), figures.moment_text(value))


@register.filter
def day(value: datetime | None) -> SafeString:
    """Return the date as a <time> with the exact time as tooltip."""
    if value is None:
        return SafeString("–")
    return _time(value, figures.dated(figures.local(value), "j M Y"))


@register.filter
def clock(value: datetime | None) -> SafeString:
    """Return the time of day as a <time> with the exact time as tooltip."""
    if value is None:
        return SafeString("–")
    return _time(value, figures.time_only(value))


@register.filter
def soon(value: datetime, now: datetime) -> SafeString:
    """Return a time as a <time>: the time of day, preceded by the day if it is not today."""
    return _time(value, figures.time_and_day(value, now))


@register.simple_tag
def time_zone() -> str:
    """Return the name of the reader's time zone, such as Europe/Berlin."""
    return get_current_timezone_name()


@register.filter
def since(moment: datetime | None, now: datetime) -> str:
    """Return the duration from `moment` to `now`."""
    return figures.duration(now - moment) if moment else "–"


@register.filter
def rough(length: timedelta | None) -> str:
    """Return a duration in one unit, for narrow places."""
    return figures.rough_duration(max(length, timedelta())) if length is not None else "–"


@register.filter
def hours(number: float) -> str:
    """Return a number of hours as a duration."""
    return figures.duration(timedelta(hours=number))


@register.simple_tag
def span_length(span: Span, now: datetime) -> str:
    """Return the duration of a span of a timeline, up to `now` if it is open."""
    return figures.duration(span.length(now))


@register.simple_tag
def trial_value(trial: Trial, metric: Metric) -> str:
    """Return the value of a metric that a trial reached."""
    return figures.value_text(value_of(trial, metric))


@register.filter
def item(values: Mapping[str, object], key: str) -> object:
    """Return the value of a key held in a variable, or None."""
    return values.get(key)
