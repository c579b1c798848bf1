"""The price book as a table: the prices of a region, the missing ones, and the history of a price."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext as _

from jobs.catalog import PriceRow
from jobs.cost import price_keys
from jobs.cost.prices import Key, PriceBook, hourly, is_stale
from jobs.models import Price
from jobs.prices.book import row_of
from jobs.strategies import STRATEGIES

MAX_HISTORY = 100


@dataclass(frozen=True, slots=True)
class PriceLine:
    """A row of the price book for a page. `recorded` is this site's row, if it is one."""

    row: PriceRow
    recorded: Price | None = None

    @property
    def usd(self) -> Decimal | None:
        """USD per hour, None without a price."""
        return hourly(self.row)

    @property
    def origin(self) -> tuple[str, str, bool, str]:
        """What a page shows of the source: its name, address, whether it is official, and the note."""
        url = self.recorded.source_url if self.recorded is not None else ""
        return self.row.source, url, self.row.is_official, self.row.note


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key and the row in effect for it, None if no price is known."""

    key: Key
    line: PriceLine | None

    @property
    def name(self) -> str:
        """The key in a URL: resource/strategy/basis."""
        resource, _, strategy, basis = self.key
        return f"{resource}/{strategy}/{basis}"

    @property
    def resource(self) -> str:
        """The resource that is priced."""
        return self.key[0]

    @property
    def strategy(self) -> str:
        """The label of the strategy, or a text for all strategies."""
        return STRATEGIES[self.key[2]].label if self.key[2] in STRATEGIES else _("every strategy")

    @property
    def basis(self) -> str:
        """The label of the price's basis."""
        return str(Price.Basis(self.key[3]).label)


def list_keys(book: PriceBook, *, region: str, text: str, show: str, today: date) -> list[KeyLine]:
    """Return the keys of a region whose resource contains `text`, in the order of the catalogue. No query.

    `show` is "known" for keys with a price, "missing" for those without, "old" for prices older than 90 days or without
    a date.
    """
    found = []
    for key in price_keys.keys_in(region):
        if text.lower() not in key[0].lower():
            continue
        row = book.effective_row(key)
        if _is_shown(row, show, today):
            found.append(KeyLine(key, None if row is None else PriceLine(row)))
    return found


def key_in(region: str, name: str) -> Key | None:
    """Return the key with this `KeyLine.name`, or None."""
    resource, _, rest = name.partition("/")
    key = (resource, region, *rest.split("/"))
    return next((each for each in price_keys.keys_in(region) if each == key), None)


def list_history(book: PriceBook, key: Key) -> Sequence[PriceLine]:
    """Return every row of a key: rows recorded on this site, newest first, then those of the data files. One query."""
    resource, region, strategy, basis = key
    recorded = Price.objects.filter(resource=resource, region=region, strategy=strategy, basis=basis)
    newest = recorded.select_related("recorded_by").order_by("-id")[:MAX_HISTORY]
    return [*(PriceLine(row_of(each), each) for each in newest), *(PriceLine(row) for row in book.listed(key))]


def _is_shown(row: PriceRow | None, show: str, today: date) -> bool:
    if show == "missing" or row is None:
        return show == "missing" and row is None
    return show != "old" or row.as_of is None or is_stale(row.as_of, today)
