"""What an import would change in the price book, and which of it somebody has to confirm. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from jobs.catalog import PriceRow
from jobs.cost.prices import Key, PriceBook

MAX_FACTOR = 10
"""A price that is more than so many times another, or less than that part of it, is rather a wrong match."""
MAX_UNCHANGED_AGE = timedelta(days=30)
"""A price that holds still is recorded anew after so long; it would be shown as old after 90 days otherwise."""
DIGITS = Decimal("1e-12")
"""As exact as a price is kept."""


@dataclass(frozen=True, slots=True)
class Change:
    """A new row and the row of the book that it would take the place of; `doubt` is why somebody must confirm it."""

    row: PriceRow
    old: PriceRow | None
    doubt: str = ""

    @property
    def name(self) -> str:
        """How a person names the change to confirm it: region/resource/strategy/basis."""
        return "/".join((self.row.region, self.row.resource, self.row.strategy, self.row.basis))

    @property
    def percent(self) -> Decimal | None:
        """By how much the price rises, in percent; None where there was none."""
        new, old = self.row.usd_per_hour, self.old.usd_per_hour if self.old else None
        return (new / old - 1) * 100 if new is not None and old else None

    @property
    def is_same(self) -> bool:
        """Whether only the source and its day change."""
        return self.old is not None and _amount(self.old) == _amount(self.row)


@dataclass(slots=True)
class Comparison:
    """What an import found: rows to write, rows that need a confirmation, and how many need nothing."""

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
    """Compare what an import read with the book.

    `imported` is the price that the last import wrote for each key. A correction by a person is replaced only when
    the Catalog's price is not the one of the last import any more, or when it is confirmed. `confirmed`: the names of
    changes that are written whatever the doubt.
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
    """Whether the old row holds the same officially and is young enough to stand."""
    if old is None or not old.is_official or old.as_of is None:
        return False
    return (row.as_of or date.max) - old.as_of <= MAX_UNCHANGED_AGE
