"""The price book, which selects one of several published prices for the same resource.

One key (resource, region, strategy, basis) can have several rows from different days and sources. Rows recorded by the
site, by a person or an import, take precedence over the data files, which are second-hand copies; of several, the last
one recorded applies. So a person's correction applies until a later row replaces it. An import replaces it only if
Google's price has changed since or somebody confirms it (`jobs.cost.price_changes`).

Among rows of the files, the newest trusted one applies. A row without a date applies only if there is no other, and a
row that its own source doubts comes last. A row of another region never applies.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from jobs.catalog import PriceRow, fee_rows, price_rows
from jobs.cost.lines import Line
from jobs.texts import translatable as _

HOURS_PER_MONTH = 730
"""Hours by which Google's price pages and our files convert monthly prices; Cloud Billing's own month has 720."""

ANY_STRATEGY = "*"
COMPUTE_ENGINE, VERTEX_TRAINING, MANAGEMENT_FEE = "compute_engine", "vertex_training", "management_fee"
_MONTHLY = re.compile(r"(?<![0-9.])([0-9.]+) USD per GiB-month")
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
MAX_PRICE_AGE = timedelta(days=90)
"""Compute Engine changes Spot prices up to once a day, others within months (Spot VMs, docs.cloud.google.com)."""
Key = tuple[str, str, str, str]
"""Resource, region, strategy and basis; a fee recorded by the site has the basis management_fee."""


class PriceBook:
    """All known published prices and management fees, by resource, region and strategy."""

    def __init__(
        self, prices: Iterable[PriceRow], fees: Iterable[PriceRow], recorded: Mapping[Key, PriceRow] | None = None
    ) -> None:
        """Index the rows; their order does not matter.

        `recorded` are the rows recorded by the site, `{key: the newest row}`.
        """
        self._prices = _index(prices)
        self._fees = _index(fees)
        self._recorded = recorded or {}

    @classmethod
    def load(cls) -> "PriceBook":
        """Return the book of the catalogue's data files alone; they are loaded once per process."""
        return _load()

    def price(self, resource: str, *, region: str, strategy: str, basis: str) -> PriceRow | None:
        """Return the row that applies, or None if no price is published; `strategy` is a price key."""
        key = (resource, region, strategy, basis)
        row = self._recorded.get(key) or _best(self._prices.get(key, ()))
        return row if row and row.usd_per_hour is not None else None

    def fee(self, resource: str, *, region: str, strategy: str) -> PriceRow | None:
        """Return Vertex AI's management fee for a resource, or None if none is known."""
        recorded = [self._recorded.get((resource, region, key, MANAGEMENT_FEE)) for key in (strategy, ANY_STRATEGY)]
        listed = [
            _best(self._fees.get((resource, region, key, VERTEX_TRAINING), ())) for key in (strategy, ANY_STRATEGY)
        ]
        row = next((each for each in (*recorded, *listed) if each is not None), None)
        return row if row and row.usd_per_hour is not None else None

    def effective_row(self, key: Key) -> PriceRow | None:
        """Return the row that applies to a key, including a fee's, or None."""
        resource, region, strategy, basis = key
        if basis == MANAGEMENT_FEE:
            return self.fee(resource, region=region, strategy=strategy)
        return self.price(resource, region=region, strategy=strategy, basis=basis)

    def recorded(self, key: Key) -> PriceRow | None:
        """Return the row that the site recorded for a key, even without a price, or None."""
        return self._recorded.get(key)

    def listed(self, key: Key) -> tuple[PriceRow, ...]:
        """Return the rows of the data files for a key, the most trusted first."""
        rows = self._fees.get((*key[:3], VERTEX_TRAINING)) if key[3] == MANAGEMENT_FEE else self._prices.get(key)
        return tuple(sorted(rows or (), key=_trust, reverse=True))

    def is_withdrawn(self, resource: str, *, region: str, strategy: str, basis: str) -> bool:
        """Return whether the site has recorded that the resource is no longer sold this way."""
        row = self._recorded.get((resource, region, strategy, basis))
        return row is not None and row.usd_per_hour is None

    def is_listed_without_price(self, resource: str, *, region: str, strategy: str) -> bool:
        """Return whether the newest row of a resource has no price, such as N/A on Google's page."""
        if row := self._recorded.get((resource, region, strategy, COMPUTE_ENGINE)):
            return row.usd_per_hour is None
        rows = self._prices.get((resource, region, strategy, COMPUTE_ENGINE), ())
        return bool(rows) and max(rows, key=_trust).usd_per_hour is None


def line(row: PriceRow, *, quantity: Decimal, unit: str, resource: str = "", basis: str = "") -> Line:
    """Return the line of a row: price, source, date and doubts."""
    remarks = [message for word, message in (_DOUBTS | _REMARKS).items() if word in row.note]
    doubts = remarks if row.as_of else [*remarks, "The source gives no date."]
    return Line(
        resource=resource or row.resource,
        quantity=quantity,
        unit=unit,
        unit_usd=hourly(row),
        basis=basis or row.basis,
        source=row.source,
        as_of=row.as_of,
        assumption=" ".join(doubts),
        is_official=row.is_official,
    )


def is_stale(as_of: date, today: date) -> bool:
    """Return whether a price of the day `as_of` is older than 90 days."""
    return today - as_of > MAX_PRICE_AGE


def age_words(as_of: date, today: date) -> str:
    """Return the age of a stale price for people; empty if it is recent enough."""
    if not is_stale(as_of, today):
        return ""
    return _("%(days)s days old", days=(today - as_of).days)


def old_parts(lines: Iterable[Mapping[str, Any]], as_of: date | str | None, today: date) -> dict[date, list[str]]:
    """Return the names of what has a price older than 90 days and older than `as_of`, the main price, by its date.

    `lines` are those of an estimate as JSON (`Line.as_dict`).
    """
    main = date.fromisoformat(as_of) if isinstance(as_of, str) and as_of else as_of or today
    found: dict[date, list[str]] = {}
    for each in lines:
        day = date.fromisoformat(each["as_of"]) if each.get("as_of") else None
        if day is not None and day < main and is_stale(day, today):
            found.setdefault(day, []).append(str(each["resource"]))
    return {day: list(dict.fromkeys(names)) for day, names in sorted(found.items())}


def hourly(row: PriceRow) -> Decimal | None:
    """Return USD per hour; for disks from the monthly list price in the note, because the hourly column is rounded."""
    if row.usd_per_hour is None:
        return None
    if row.resource.endswith("-gb-month") and (monthly := _MONTHLY.search(row.note)):
        return Decimal(monthly.group(1)) / HOURS_PER_MONTH
    return row.usd_per_hour


@cache
def _load() -> PriceBook:
    return PriceBook(price_rows(), fee_rows())


def _index(rows: Iterable[PriceRow]) -> dict[Key, tuple[PriceRow, ...]]:
    found: dict[Key, list[PriceRow]] = defaultdict(list)
    for row in rows:
        found[row.resource, row.region, row.strategy, row.basis].append(row)
    return {key: tuple(rows_of_key) for key, rows_of_key in found.items()}


def _best(rows: Iterable[PriceRow]) -> PriceRow | None:
    return max((row for row in rows if row.usd_per_hour is not None), key=_trust, default=None)


def _trust(row: PriceRow) -> tuple[bool, bool, date]:
    """Return a sort key: doubted rows first, then undated ones, then by date; the last one is the most trusted."""
    doubted = any(word in row.note for word in _DOUBTS)
    return not doubted, row.as_of is not None, row.as_of or date.min
