"""Round and format amounts of money for people."""

from decimal import ROUND_HALF_UP, ROUND_UP, Decimal

CENT, MICRO = Decimal("0.01"), Decimal("0.000001")
MAX_MICROS = 10**16
"""Limit of an amount, so that sums fit their columns whatever was requested."""


def to_micros(usd: Decimal) -> int:
    """Return the amount in whole micro-dollars, limited to MAX_MICROS in both directions."""
    return max(-MAX_MICROS, min(int((usd / MICRO).to_integral_value(ROUND_HALF_UP)), MAX_MICROS))


def from_micros(micros: int | None) -> Decimal:
    """Return micro-dollars in US dollars, with all of their digits; None is nothing."""
    return Decimal(micros or 0).scaleb(-6)


def round_price(usd_per_hour: Decimal) -> Decimal:
    """Return the price of an hour rounded to a micro-dollar, as it is stored. Costs are computed from this price."""
    return usd_per_hour.quantize(MICRO, ROUND_HALF_UP)


def round_up(usd: Decimal) -> Decimal:
    """Return the amount rounded up to whole cents, for upper limits."""
    return usd.quantize(CENT, ROUND_UP)


def format_usd(usd: Decimal | float | str) -> str:
    """Return "$1,234.50"; below one cent, two significant digits, "$0.0012"."""
    amount = Decimal(str(usd))
    sign, size = ("−" if amount < 0 else ""), abs(amount)
    if size == 0 or size >= Decimal("0.00995"):
        return f"{sign}${size.quantize(CENT, ROUND_HALF_UP):,}"
    return f"{sign}${size.quantize(Decimal(1).scaleb(size.adjusted() - 1), ROUND_HALF_UP):f}"
