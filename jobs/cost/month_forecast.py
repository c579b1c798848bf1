"""Forecast the cost of a month: what is spent, what is known of the rest, and the days past for what is not. Pure.

1. Work that is known has an amount, a time from which it costs, and a price per hour: jobs that run, jobs that are
   allowed, runs of schedules, and persistent resources that are up. What falls after the month does not count.
2. A remaining day costs what is known for it, but at least the mean of the last whole days. Work that is known is a
   part of such a mean, so that nothing counts twice, and a day with much known work costs more than the mean.
3. The range takes the low and the high amounts of known work, and the days as independent: 1.28 of their standard
   deviations, which is 8 of 10 cases of a normal distribution. It is never below what is spent.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from statistics import fmean, stdev

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
LOOK_BACK = 14
"""Maximum whole days whose mean is used for the remaining days; they may belong to the month before."""
DEVIATIONS = 1.28
CENT = Decimal("0.01")


class Source(StrEnum):
    """Why an amount is known. The values are those of the API."""

    RUNNING = "running"
    COMMITTED = "committed"
    SCHEDULED = "scheduled"
    RESOURCES = "resources"


@dataclass(frozen=True, slots=True)
class Work:
    """Known work: it costs `usd`, between `low_usd` and `high_usd`, from `since` on at `usd_per_hour`."""

    source: Source
    since: datetime
    usd_per_hour: Decimal
    low_usd: Decimal
    usd: Decimal
    high_usd: Decimal


@dataclass(frozen=True, slots=True)
class Forecast:
    """US dollars at the end of the month with their range; the sum of `spent_usd`, `parts` and `usual_usd`."""

    usd: Decimal
    low_usd: Decimal
    high_usd: Decimal
    spent_usd: Decimal
    parts: Mapping[Source, Decimal]
    """What is known of the rest of the month, by its source."""
    usual_usd: Decimal
    """What the remaining days cost beyond that, if they are like the last ones."""
    days: int
    """Number of whole days whose mean was used."""


def forecast_month(days: Mapping[date, Decimal], works: Iterable[Work], now: datetime) -> Forecast | None:
    """Return the forecast of the month of `now` (UTC), or None if no whole day has passed and no work is known.

    `days` are the cost of each day of this month and the month before; those without a cost may be left out.
    """
    today = now.astimezone(UTC).date()
    first, begun = today.replace(day=1), [day for day, usd in days.items() if usd]
    whole = _whole_days(days, min(begun, default=today), today)
    works = list(works)
    if not whole and not works:
        return None
    spent = float(sum((usd for day, usd in days.items() if day >= first), Decimal(0)))
    periods = _periods(now)
    low, middle, high = (_by_period(works, name, periods) for name in ("low_usd", "usd", "high_usd"))
    mean = fmean(whole) if whole else 0.0
    # One day alone shows no deviation; it is taken to be as large as the day itself.
    deviation = stdev(whole) if len(whole) > 1 else mean
    usual = [mean * ((end - start) / DAY) for start, end in periods]
    spread = DEVIATIONS * deviation * math.sqrt(sum((end - start) / DAY for start, end in periods))
    at_least, expected, at_most = (sum(map(max, known, usual)) for known in (low, middle, high))
    usd = _cents(spent + expected)
    parts = {
        source: _cents(sum(_by_period([each for each in works if each.source is source], "usd", periods)))
        for source in Source
    }
    return Forecast(
        usd=usd,
        low_usd=min(usd, _cents(spent + max(sum(low), at_least - spread))),
        high_usd=max(usd, _cents(spent + at_most + spread)),
        spent_usd=_cents(spent),
        parts=parts,
        usual_usd=max(usd - _cents(spent) - sum(parts.values(), Decimal(0)), Decimal(0)),
        days=len(whole),
    )


def end_of_month(now: datetime) -> datetime:
    """Return the first moment of the next month, UTC."""
    first = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + 31 * DAY).replace(day=1)


def _whole_days(days: Mapping[date, Decimal], begun: date, today: date) -> list[float]:
    """Return the cost of the last whole days, of those since the first that cost something."""
    first = max(begun, today - LOOK_BACK * DAY)
    return [float(days.get(first + DAY * at, 0)) for at in range((today - first).days)]


def _periods(now: datetime) -> list[tuple[datetime, datetime]]:
    """Return the rest of today, and each later day of the month, UTC."""
    start, end, found = now.astimezone(UTC), end_of_month(now), []
    while start < end:
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
        found.append((start, midnight))
        start = midnight
    return found


def _by_period(works: Iterable[Work], name: str, periods: list[tuple[datetime, datetime]]) -> list[float]:
    """Return what works cost in each period, by the amounts of this name."""
    found = [0.0] * len(periods)
    begin = periods[0][0]
    for work in works:
        left, price, at = float(getattr(work, name)), float(work.usd_per_hour), max(work.since, begin)
        place = (at.date() - begin.date()).days
        while left > 0 and place < len(periods):
            end = periods[place][1]
            cost = min(left, price * ((end - at) / HOUR)) if price > 0 else left
            found[place] += cost
            left, at, place = left - cost, end, place + 1
    return found


def _cents(usd: float) -> Decimal:
    return Decimal(repr(usd)).quantize(CENT)
