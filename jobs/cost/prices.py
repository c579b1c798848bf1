"""The price book: which of several published prices for the same thing counts.

One key (resource, region, strategy, basis) can have several rows, from different days and sources. The newest trusted
row wins; a row without a date counts only where there is no other, and a row that its own source doubts comes last.
Never another region's row.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Self

from jobs.catalog import PriceRow, fee_rows, price_rows
from jobs.cost.lines import Line

HOURS_PER_MONTH = 730
"""How Google's price pages and our files turn a monthly price into an hourly one; Billing's own month has 720."""

ANY_STRATEGY = "*"
_MONTHLY = re.compile(r"([0-9.]+) USD per GiB-month")
_DOUBTS = {
    "INFERRED": "Inferred: the source lists this figure as the on-demand price of the region.",
    "CONTRADICTS": "Contradicted by a bill.",
}
_REMARKS = {
    "APPROXIMATE": "Approximate: the source prices the host machine as plain A3.",
    "rounded to cents": "Rounded to cents by the source.",
    "secondary, rounded": "Rounded, and quoted at second hand.",
    "not separately observed": "The fee is one SKU for all strategies; its amount was only seen on a Flex-start bill.",
}
_Key = tuple[str, str, str, str]


class PriceBook:
    """All published prices and management fees that we know, by resource, region and strategy."""

    def __init__(self, prices: Iterable[PriceRow], fees: Iterable[PriceRow]) -> None:
        """Index the rows; the order in which they come does not matter."""
        self._prices = _index(prices)
        self._fees = _index(fees)

    @classmethod
    def load(cls) -> "PriceBook":
        """Return the book of the catalogue's data files; they are read once per process."""
        return _load()

    @classmethod
    def as_known_on(cls, day: date) -> Self:
        """Return the book without what was learned after `day`; undated rows stay."""
        return cls(
            *([row for row in rows if row.as_of is None or row.as_of <= day] for rows in (price_rows(), fee_rows()))
        )

    def price(self, resource: str, *, region: str, strategy: str, basis: str) -> PriceRow | None:
        """Return the row that counts, or None where nothing is published; `strategy` is a price key."""
        return _best(self._prices.get((resource, region, strategy, basis), ()))

    def fee(self, resource: str, *, region: str, strategy: str) -> PriceRow | None:
        """Return Vertex AI's management fee on a resource, or None where no figure was found."""
        for key in (strategy, ANY_STRATEGY):
            if row := _best(self._fees.get((resource, region, key, "vertex_training"), ())):
                return row
        return None

    def is_listed_without_price(self, resource: str, *, region: str, strategy: str) -> bool:
        """Tell whether the newest word on a resource is that it has no price, such as N/A on Google's page."""
        rows = self._prices.get((resource, region, strategy, "compute_engine"), ())
        return bool(rows) and max(rows, key=_trust).usd_per_hour is None


def line(row: PriceRow, *, quantity: Decimal, unit: str, resource: str = "", basis: str = "") -> Line:
    """Return a line that says all that the row knows: price, source, date and what is doubtful about it."""
    return Line(
        resource=resource or row.resource,
        quantity=quantity,
        unit=unit,
        unit_usd=hourly(row),
        basis=basis or row.basis,
        source=row.source,
        as_of=row.as_of,
        assumption=" ".join(_doubts(row)),
    )


def hourly(row: PriceRow) -> Decimal | None:
    """Return USD per hour; for disks from the monthly list price in the note, as the hourly column is rounded."""
    if row.usd_per_hour is None:
        return None
    if row.resource.endswith("-gb-month") and (monthly := _MONTHLY.search(row.note)):
        return Decimal(monthly.group(1)) / HOURS_PER_MONTH
    return row.usd_per_hour


@cache
def _load() -> PriceBook:
    return PriceBook(price_rows(), fee_rows())


def _index(rows: Iterable[PriceRow]) -> dict[_Key, tuple[PriceRow, ...]]:
    found: dict[_Key, list[PriceRow]] = defaultdict(list)
    for row in rows:
        found[row.resource, row.region, row.strategy, row.basis].append(row)
    return {key: tuple(rows_of_key) for key, rows_of_key in found.items()}


def _best(rows: Iterable[PriceRow]) -> PriceRow | None:
    return max((row for row in rows if row.usd_per_hour is not None), key=_trust, default=None)


def _trust(row: PriceRow) -> tuple[bool, bool, date]:
    """Order rows: doubted ones last, then undated ones, then by date."""
    doubted = any(word in row.note for word in _DOUBTS)
    return not doubted, row.as_of is not None, row.as_of or date.min


def _doubts(row: PriceRow) -> list[str]:
    """Say in sentences what keeps the row from being a plain fact."""
    said = [sentence for word, sentence in (_DOUBTS | _REMARKS).items() if word in row.note]
    return said if row.as_of else [*said, "The source gives no date."]
