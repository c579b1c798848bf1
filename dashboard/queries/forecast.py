"""What a month will have cost at its end, from what its days cost so far. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from statistics import stdev

DAY = timedelta(days=1)
LOOK_BACK = 14
"""Whole days whose mean is taken for the days to come."""
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Forecast:
    """US dollars at the month's end, with a range of about 8 in 10 where there are days enough for one."""

    usd: Decimal
    low_usd: Decimal
    high_usd: Decimal
    days: int
    """Whole days that it rests on; 0 where the month is too young, and only what is spent is shown."""


def forecast_month(days: Mapping[date, Decimal], now: datetime) -> Forecast | None:
    """Return what is spent so far and, for the rest of the month, the mean of its last whole days.

    The range is 1.28 standard deviations of the days, times the root of the days to come, as if days were independent;
    it never lies below what is spent. None before the month's first whole day has passed.
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
