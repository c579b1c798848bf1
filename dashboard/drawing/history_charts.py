"""Charts of the history: outcomes and spending over time, and waits and preemptions per value of a facet."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.drawing.charts import Bar, Range, Tick, draw_bars, draw_ranges, round_up
from dashboard.drawing.figures import dated, duration, money, spent, thousands
from jobs.cost.distributions import poisson_interval
from jobs.strategies import STRATEGIES
from jobs.timeline import wait_percentile

MAX_ROWS = 6
"""Maximum rows of a chart. The table has all."""
DAY = 86_400
STEP_WORDS = {"day": gettext_lazy("day"), "week": gettext_lazy("week"), "month": gettext_lazy("month")}
"""Names of the periods."""
MEASURED_SECONDS = 3_600
"""Running time on Spot below which no rate of preemptions is drawn, because its interval is too wide to be of use."""
WAIT_TICKS = (
    Tick(1, "1 s"), Tick(10, "10 s"), Tick(60, "1 min"), Tick(600, "10 min"), Tick(3_600, "1 h"),
    Tick(6 * 3_600, "6 h"), Tick(DAY, "24 h"), Tick(7 * DAY, "7 d"),
)  # fmt: skip


class Period(Protocol):
    """The values of a period that are drawn; see `dashboard.queries.history_figures.Period`."""

    start: date
    sums: Any
    by_strategy: dict[str, Any]


def look_of(strategy: str) -> str:
    """Return the CSS class that fills with the colour of a strategy."""
    return f"hue {strategy}" if strategy in STRATEGIES else "hue"


def draw_outcomes(periods: Sequence[Period], step: str) -> SafeString:
    """Return a chart of the jobs that succeeded, failed or ended otherwise in each period."""
    bars = [
        Bar(
            _("%(day)s: %(succeeded)s succeeded, %(failed)s failed, %(other)s other")
            % {
                "day": _day(each.start, step),
                "succeeded": thousands(each.sums.succeeded),
                "failed": thousands(each.sums.failed),
                "other": thousands(each.sums.other),
            },
            [("bar-ok", each.sums.succeeded), ("bar-bad", each.sums.failed), ("bar-halt", each.sums.other)],
        )
        for each in periods
    ]  # fmt: skip
    most = max((each.sums.jobs for each in periods), default=0)
    label = _("Jobs by outcome, per %(step)s; at most %(most)s") % {"step": STEP_WORDS[step], "most": thousands(most)}
    top = ngettext("%(number)s job", "%(number)s jobs", most) % {"number": thousands(most)}
    return draw_bars(bars, label, top, _ends(periods, step))


def draw_spending(periods: Sequence[Period], step: str) -> SafeString:
    """Return a chart of the cost of the jobs that ended in each period, by strategy."""
    bars = [
        Bar(
            f"{_day(each.start, step)}: {spent(each.sums.usd, each.sums.priced)}",
            [(look_of(key), each.by_strategy[key].micros) for key in STRATEGIES if key in each.by_strategy],
        )
        for each in periods
    ]
    dearest = max(periods, key=lambda each: (each.sums.usd, each.sums.priced), default=None)
    most = spent(dearest.sums.usd, dearest.sums.priced) if dearest is not None else money(0)
    label = _("Cost of ended jobs by strategy, per %(step)s; at most %(most)s")
    return draw_bars(bars, label % {"step": STEP_WORDS[step], "most": most}, most, _ends(periods, step))


def draw_waits(rows: Mapping[str, Any], labels: Mapping[str, str]) -> SafeString | None:
    """Return a chart of the 10th, 50th and 90th percentile of waits per value, on a logarithmic axis.

    None without any.
    """
    ranges = []
    for value, sums in list(rows.items())[:MAX_ROWS]:
        found = [wait_percentile(sums.waits, share) for share in (0.1, 0.5, 0.9)]
        low, middle, high = ((each.total_seconds() if each is not None else 0.0) for each in found)
        if found[1] is not None:
            known = {"name": labels[value], "half": duration(middle), "most": duration(high)}
            title = _("%(name)s: first wait at most %(half)s for half, %(most)s for 9 of 10") % known
            ranges.append(Range(labels[value], look_of(value), low, middle, high, title))
    if not ranges:
        return None
    inner = [tick.at for tick in WAIT_TICKS[1:-1]]
    first = bisect_right(inner, min(row.low for row in ranges))
    last = max(bisect_left(inner, max(row.high for row in ranges)) + 1, 2)
    first = min(first, last - 2)  # at least three ticks, so that the axis can be read
    label = _("First wait, until RUNNING: 10th, 50th and 90th percentile")
    return draw_ranges(ranges, WAIT_TICKS[first : last + 1], label, is_log=True)


def draw_preemptions(rows: Mapping[str, Any], labels: Mapping[str, str]) -> SafeString | None:
    """Return a chart of preemptions per 24 hours of running, with 80 % intervals.

    Return None if nothing ran on Spot for long enough.
    """
    ranges = []
    for value, sums in [item for item in rows.items() if item[1].spot_seconds >= MEASURED_SECONDS][:MAX_ROWS]:
        per_day = DAY / sums.spot_seconds
        low, high = (each * per_day for each in poisson_interval(sums.preemptions))
        rate = sums.preemptions * per_day
        title = _("%(name)s: %(count)s preemptions, %(rate)s in 24 h of running (%(low)s to %(high)s)") % {
            "name": labels[value],
            "count": thousands(sums.preemptions),
            "rate": f"{rate:.2f}",
            "low": f"{low:.2f}",
            "high": f"{high:.2f}",
        }
        ranges.append(Range(labels[value], "hue spot", low, rate, high, title))
    if not ranges:
        return None
    most = round_up(max(max(row.high for row in ranges), 0.1))
    ticks = [Tick(0, "0"), Tick(most / 2, f"{most / 2:g}"), Tick(most, f"{most:g}")]
    # xgettext:no-python-format
    label = _("Preemptions in 24 hours of running on Spot, with 80 % interval")
    return draw_ranges(ranges, ticks, label)


def _ends(periods: Sequence[Period], step: str) -> tuple[str, str]:
    return (_day(periods[0].start, step), _day(periods[-1].start, step)) if len(periods) > 1 else ("", "")


def _day(day: date, step: str) -> str:
    return dated(day, "M Y" if step == "month" else "j M")
