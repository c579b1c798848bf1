"""Compute what an import would change in the price book, and which changes need a confirmation. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from jobs.catalog import PriceRow
from jobs.cost.prices import Key, PriceBook

MAX_FACTOR = 10
"""A price that differs from another by more than this factor is more likely a wrong match."""
MAX_UNCHANGED_AGE = timedelta(days=30)
"""An unchanged price is recorded again after this time; otherwise it would be shown as old after 90 days."""
DIGITS = Decimal("1e-12")
"""The precision of stored prices."""


@dataclass(frozen=True, slots=True)
class Change:
    """A new row and the row that it would replace; `doubt` is why somebody has to confirm it."""

    row: PriceRow
    old: PriceRow | None
    doubt: str = ""

    @property
    def name(self) -> str:
        """The name by which a person confirms the change: region/resource/strategy/basis."""
        return "/".join((self.row.region, self.row.resource, self.row.strategy, self.row.basis))

    @property
    def percent(self) -> Decimal | None:
        """The increase of the price in percent; None if there was no price."""
        new, old = self.row.usd_per_hour, self.old.usd_per_hour if self.old else None
        return (new / old - 1) * 100 if new is not None and old else None

    @property
    def is_same(self) -> bool:
        """Whether only the source and its day change."""
        return self.old is not None and _amount(self.old) == _amount(self.row)


@dataclass(slots=True)
class Comparison:
    """The result of an import: rows to write, rows that need a confirmation, and the number of unchanged rows."""

    changes: list[Change] = field(default_factory=list)
    doubtful: list[Change] = field(default_factory=list)
    unchanged: int = 0


def compare(
    book: PriceBook,
    rows: Iterable[PriceRow],
    *,
    imported: Mapping[Key, Decimal | None],
    confirmed: Iterable[str] = (),
) -> Comparison:
    """Compare the rows of an import with the book.

    `imported` is the price that the last import wrote for each key. A correction by a person is replaced only if the
    Catalog's price differs from the last import, or if the change is confirmed. `confirmed` are the names of changes
    that are written despite a doubt.
    """
    names, found = frozenset(confirmed), Comparison()
    for row in rows:
        key = (row.resource, row.region, row.strategy, row.basis)
        old = book.recorded(key) or book.effective_row(key)
        change = Change(row, old, _doubt(row, old, imported.get(key)))
        if change.doubt and change.name not in names:
            found.doubtful.append(change)
        elif change.is_same and _is_recent(row, old):
            found.unchanged += 1
        else:
            found.changes.append(change)
    return found


def _doubt(row: PriceRow, old: PriceRow | None, imported: Decimal | None) -> str:
    if old is None:
        return ""
    if old.origin == "person" and _amount(old) != _amount(row) and imported in (None, _amount(row)):
        return "a person has corrected this price, and Google's has not changed since"
    new, before = row.usd_per_hour, old.usd_per_hour
    if new is not None and before and not before / MAX_FACTOR <= new <= before * MAX_FACTOR:
        return f"more than {MAX_FACTOR} times the old price, or less than a {MAX_FACTOR}th of it"
    return ""


def _amount(row: PriceRow) -> Decimal | None:
    return None if row.usd_per_hour is None else row.usd_per_hour.quantize(DIGITS)


def _is_recent(row: PriceRow, old: PriceRow | None) -> bool:
    """Return whether the old row has an official price that is recent enough to keep."""
    if old is None or not old.is_official or old.as_of is None:
        return False
    return (row.as_of or date.max) - old.as_of <= MAX_UNCHANGED_AGE
