"""The charts of the history: outcomes and spending over time, and waits and preemptions of each value of a facet."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from django.utils.safestring import SafeString

from dashboard.drawing.charts import Bar, Range, Tick, draw_bars, draw_ranges, round_up
from dashboard.drawing.figures import duration, money, spent
from jobs.strategies import STRATEGIES
from jobs.timeline import poisson_interval, wait_percentile

MAX_ROWS = 6
"""Rows of a chart; the table has all."""
DAY = 86_400
WAIT_TICKS = (
    Tick(60, "1 min"), Tick(600, "10 min"), Tick(3_600, "1 h"), Tick(6 * 3_600, "6 h"),
    Tick(DAY, "24 h"), Tick(7 * DAY, "7 d"),
)  # fmt: skip


class Period(Protocol):
    """What is drawn of a stretch of days; see `dashboard.queries.history_figures.Period`."""

    start: date
    sums: Any
    by_strategy: dict[str, Any]


def look_of(strategy: str) -> str:
    """Return the class that fills with the colour of a strategy."""
    return f"fill-{strategy}" if strategy in STRATEGIES else "fill-standard"


def draw_outcomes(periods: Sequence[Period], step: str) -> SafeString:
    """Return how many jobs succeeded, failed and ended otherwise in each period."""
    bars = [
        Bar(
            f"{_day(each.start, step)}: {each.sums.succeeded:,} succeeded, {each.sums.failed:,} failed,"
            f" {each.sums.other:,} other",
            [("bar-ok", each.sums.succeeded), ("bar-bad", each.sums.failed), ("bar-halt", each.sums.other)],
        )
        for each in periods
    ]  # fmt: skip
    most = max((each.sums.jobs for each in periods), default=0)
    return draw_bars(bars, f"Jobs by outcome, per {step}; at most {most:,}", f"{most:,} jobs", _ends(periods, step))


def draw_spending(periods: Sequence[Period], step: str) -> SafeString:
    """Return what the jobs that ended in each period cost, by strategy."""
    bars = [
        Bar(
            f"{_day(each.start, step)}: {spent(each.sums.usd, each.sums.priced)}",
            [(look_of(key), each.by_strategy[key].cents) for key in STRATEGIES if key in each.by_strategy],
        )
        for each in periods
    ]
    dearest = max(periods, key=lambda each: (each.sums.usd, each.sums.priced), default=None)
    most = spent(dearest.sums.usd, dearest.sums.priced) if dearest is not None else money(0)
    return draw_bars(bars, f"Cost of ended jobs by strategy, per {step}; at most {most}", most, _ends(periods, step))


def draw_waits(rows: Mapping[str, Any], labels: Mapping[str, str]) -> SafeString | None:
    """Return the 10th, 50th and 90th percentile of the waits of each value, on a logarithmic axis; None without any."""
    ranges = []
    for value, sums in list(rows.items())[:MAX_ROWS]:
        found = [wait_percentile(sums.waits, share) for share in (0.1, 0.5, 0.9)]
        low, middle, high = ((each.total_seconds() if each is not None else 0.0) for each in found)
        if found[1] is not None:
            title = f"{labels[value]}: half waited at most {duration(middle)}, 9 of 10 at most {duration(high)}"
            ranges.append(Range(labels[value], look_of(value), low, middle, high, title))
    if not ranges:
        return None
    last = next((place for place, tick in enumerate(WAIT_TICKS) if tick.at >= max(row.high for row in ranges)), -1)
    ticks = WAIT_TICKS[: max(last, 2) + 1] if last >= 0 else WAIT_TICKS
    return draw_ranges(ranges, ticks, "Wait until RUNNING: 10th, 50th and 90th percentile", is_log=True)


def draw_preemptions(rows: Mapping[str, Any], labels: Mapping[str, str]) -> SafeString | None:
    """Return the preemptions in 24 hours of running with 80 % intervals; None where nothing ran on Spot."""
    ranges = []
    for value, sums in [item for item in rows.items() if item[1].spot_seconds][:MAX_ROWS]:
        per_day = DAY / sums.spot_seconds
        low, high = (each * per_day for each in poisson_interval(sums.preemptions))
        rate = sums.preemptions * per_day
        count = f"{sums.preemptions:,} preemptions"
        title = f"{labels[value]}: {count}, {rate:.2f} in 24 h of running ({low:.2f} to {high:.2f})"
        ranges.append(Range(labels[value], "fill-spot", low, rate, high, title))
    if not ranges:
        return None
    most = round_up(max(max(row.high for row in ranges), 0.1))
    ticks = [Tick(0, "0"), Tick(most / 2, f"{most / 2:g}"), Tick(most, f"{most:g}")]
    return draw_ranges(ranges, ticks, "Preemptions in 24 hours of running on Spot, with 80 % interval")


def _ends(periods: Sequence[Period], step: str) -> tuple[str, str]:
    return (_day(periods[0].start, step), _day(periods[-1].start, step)) if len(periods) > 1 else ("", "")


def _day(day: date, step: str) -> str:
    return f"{day:%b %Y}" if step == "month" else f"{day.day} {day:%b}"
