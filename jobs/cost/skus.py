"""Convert SKUs of the Cloud Billing Catalog to prices of machine parts. Pure.

The Catalog has no field for the machine or provisioning model of a SKU; only its description shows them, in about forty
forms that Google changes from time to time. Each form is a pattern that matches from the first character, so that
"A100" does not match "A100 80GB", and "E2 Instance Core" does not match the Spot SKU. A SKU without a matching pattern
is counted and skipped. So is a price of zero, which the Catalog uses as a placeholder.

Source: REST resource services.skus (discovery document of cloudbilling v1 in google-api-python-client 2.202.0) and
descriptions in bills and published captures of the Catalog, read 2026-11-21.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from jobs.catalog import REGIONS
from jobs.cost.prices import HOURS_PER_MONTH, Key
from jobs.cost.sku_patterns import EXCLUDED, PATTERNS, Pattern

_PER_NANO = Decimal("1e-9")
MAX_CHARACTERS = 256
"""Limit of a description, by the API's reference."""


class Unreadable(Exception):
    """A SKU that gives no price; the message is the reason under which it is counted."""


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """USD per hour for one unit of a part, and its SKU."""

    usd: Decimal
    sku: str
    description: str
    monthly_usd: Decimal | None = None
    """The published price, if it is per month; an hour is 1/730 of it, as on Google's pages."""


@dataclass(slots=True)
class Reading:
    """The prices read so far: every SKU's price by key, and the number of skipped SKUs by reason."""

    found: dict[Key, dict[str, UnitPrice]] = field(default_factory=lambda: defaultdict(dict))
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, skus: Iterable[Any]) -> None:
        """Read the SKUs of a page; an invalid SKU is skipped and raises nothing."""
        for sku in skus:
            try:
                self._add(sku)
            except Unreadable as reason:
                self.skipped[str(reason)] += 1

    def prices(self) -> dict[Key, UnitPrice]:
        """Return the price of each key. Leave out keys whose SKUs differ, as nothing shows which one is billed."""
        return {
            key: min(units.values(), key=lambda unit: unit.sku)
            for key, units in self.found.items()
            if len({unit.usd for unit in units.values()}) == 1
        }

    def conflicts(self) -> list[Key]:
        """Return the keys whose SKUs have different prices."""
        return sorted(key for key, units in self.found.items() if len({unit.usd for unit in units.values()}) > 1)

    def _add(self, sku: Any) -> None:
        description = sku.get("description") if isinstance(sku, Mapping) else None
        if not isinstance(description, str) or not isinstance(sku.get("skuId"), str):
            raise Unreadable("no description or id")
        pattern = _match(description)
        regions = [name for name in _list(sku.get("serviceRegions")) if name in REGIONS]
        if not regions:
            raise Unreadable("no region that has training")
        usd = price_of(sku, pattern.unit)
        monthly = usd if pattern.is_monthly else None
        unit = UnitPrice(
            usd=usd / HOURS_PER_MONTH if pattern.is_monthly else usd,
            sku=sku["skuId"],
            description=description[:MAX_CHARACTERS],
            monthly_usd=monthly,
        )
        for region in regions:
            self.found[pattern.resource, region, pattern.strategy, pattern.basis][unit.sku] = unit


def _match(description: str) -> Pattern:
    if excluded := EXCLUDED.search(description):
        raise Unreadable(f"“{excluded[0].strip()}”")
    for pattern in PATTERNS:
        if pattern.text.match(description):
            return pattern
    raise Unreadable("not a part of a training machine")


def price_of(sku: Mapping[str, Any], unit: str) -> Decimal:
    """Return USD for one `unit` (h, GiBy.h or GiBy.mo) from the newest pricing info, as an exact decimal.

    A first tier of zero is a free amount; the next tier applies. Raise Unreadable for another unit or currency, for no
    price, for zero, and for tiers with several prices.
    """
    newest = (_list(sku.get("pricingInfo")) or [None])[-1]
    expression = newest.get("pricingExpression") if isinstance(newest, Mapping) else None
    if not isinstance(expression, Mapping):
        raise Unreadable("no price")
    if expression.get("usageUnit") != unit:
        raise Unreadable("another unit")
    amounts = {_usd(tier) for tier in _list(expression.get("tieredRates"))}
    if not amounts:
        raise Unreadable("no price")
    amounts.discard(Decimal(0))
    if not amounts:
        raise Unreadable("a price of zero")
    if len(amounts) > 1:
        raise Unreadable("several tiers")
    return amounts.pop()


def _usd(tier: Any) -> Decimal:
    """Return an amount of units (as text) and billionths of a dollar; either may be absent (google.type.Money)."""
    money = tier.get("unitPrice") if isinstance(tier, Mapping) else None
    if not isinstance(money, Mapping):
        raise Unreadable("no price")
    if money.get("currencyCode", "USD") != "USD":
        raise Unreadable("another currency")
    try:
        amount = Decimal(str(money.get("units") or 0)) + Decimal(str(money.get("nanos") or 0)) * _PER_NANO
    except InvalidOperation:
        raise Unreadable("no price") from None
    if not amount.is_finite() or amount < 0:
        raise Unreadable("no price")
    return amount


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []
