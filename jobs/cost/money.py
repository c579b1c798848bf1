"""Round and format amounts of money for people."""

from decimal import ROUND_HALF_UP, ROUND_UP, Decimal

CENT = Decimal("0.01")


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
