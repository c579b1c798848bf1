"""Forecast of a month's cost from the cost of its days so far. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from statistics import stdev

DAY = timedelta(days=1)
LOOK_BACK = 14
"""Maximum whole days whose mean is used for the remaining days."""
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Forecast:
    """US dollars at the end of the month, with a range of about 80 % if there are enough days."""

    usd: Decimal
    low_usd: Decimal
    high_usd: Decimal
    days: int
    """Number of whole days used."""


def forecast_month(days: Mapping[date, Decimal], now: datetime) -> Forecast | None:
    """Return the amount spent so far plus the mean of the last whole days for each remaining day.

    The range is 1.28 standard deviations of the days times the square root of the remaining days, as if days were
    independent. It is never below the amount spent. Return None before the month's first whole day has passed.
    """
    today = now.astimezone(UTC).date()
    whole = [usd for day, usd in sorted(days.items()) if day < today][-LOOK_BACK:]
    if not whole:
        return None
    spent = sum(days.values(), Decimal(0))
    end = (today.replace(day=1) + timedelta(days=31)).replace(day=1) - DAY
    passed = Decimal(repr((now - datetime(now.year, now.month, now.day, tzinfo=UTC)) / DAY))
    to_come = Decimal((end - today).days + 1) - passed
    mean = sum(whole, Decimal(0)) / len(whole)
    spread = Decimal(repr(1.28 * stdev(map(float, whole)))) * to_come.sqrt() if len(whole) > 1 else Decimal(0)
    usd = spent + mean * to_come
    low, high = max(spent, usd - spread), usd + spread
    return Forecast(usd.quantize(CENT), low.quantize(CENT), high.quantize(CENT), len(whole))
