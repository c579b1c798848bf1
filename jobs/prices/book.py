"""The price book of this site: the catalogue's data files, and the rows recorded by people and imports."""

import threading
from datetime import datetime
from typing import Any

from jobs.cache import Recent
from jobs.catalog import PriceRow, fee_rows, price_rows
from jobs.cost import PriceBook
from jobs.cost.prices import Key
from jobs.models import Price

_lock = threading.Lock()
_COLUMNS = ("id", "recorded_at", "resource", "region", "strategy", "usd_per_hour")
_Newest = tuple[Any, ...]
_NONE: _Newest = ()
_known: tuple[_Newest, dict[Key, PriceRow]] = (_NONE, {})
"""The newest row read, and the newest row of every key; cached in each process."""
_books: dict[_Newest, PriceBook] = {}
"""The book of those rows; at most one, and none before the first call."""


def current_book() -> PriceBook:
    """Return the current book; one indexed query, and more after a price was recorded.

    Rows are recorded in one transaction after another (`jobs.prices.record`), so no lower number appears later.
    """
    global _known
    newest = Price.objects.order_by("-id").values_list(*_COLUMNS).first() or _NONE
    if newest == _NONE:
        return PriceBook.load()
    with _lock:
        if newest not in _books:
            last, rows = _known
            if not last or not Price.objects.filter(**dict(zip(_COLUMNS, last, strict=True))).exists():
                last, rows = (0,), {}  # the first call, or a restored database
            prices = Price.objects.filter(id__gt=last[0]).order_by("id").iterator()
            later = {(each.resource, each.region, each.strategy, each.basis): row_of(each) for each in prices}
            _known = newest, rows | later
            _books.clear()
            _books[newest] = PriceBook(price_rows(), fee_rows(), _known[1])
        return _books[newest]


def recent_book(now: datetime) -> PriceBook:
    """Return the book, cached for ten seconds, for previews that are drawn at every key press.

    Requests, approvals and submissions are assessed with `current_book`.
    """
    return _recent.get(None, now)


def row_of(price: Price) -> PriceRow:
    """Return a recorded price as a row of the price book."""
    return PriceRow(
        region=price.region,
        resource=price.resource,
        strategy=price.strategy,
        usd_per_hour=price.usd_per_hour,
        basis=price.basis,
        source=price.source,
        as_of=price.as_of,
        note=price.note,
        is_official=price.is_official,
        origin=price.origin,
    )


_recent: Recent[None, PriceBook] = Recent(lambda _key, _now: current_book())
_recent.forget_when_saved(Price)


def forget_recent() -> None:
    """Discard the book cached for `recent_book`; call it after recording prices by a query."""
    _recent.forget_changed()
