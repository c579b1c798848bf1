"""Set aside a single item that cannot be stored or read, with the reason, so that it does not stop the others.

`SetAside` is used for one poll of one scope. A failure of the whole scope is passed on, such as a failed call of Vertex
AI, a lost claim or a database that does not answer. Only an error of a single item is handled here.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

from django.db import InterfaceError, OperationalError, models, transaction
from django.db.models import F

from jobs import bounds, storable, vertex
from jobs.errors import NotPermitted
from jobs.isolation import is_outage
from jobs.models import SetAsideItem
from jobs.queue.claims import ClaimLost

logger = logging.getLogger(__name__)

MAX_ITEMS = 2_000
"""Number of rows kept. Those seen longest ago are deleted first."""
MAX_NEW_ITEMS = 100
"""Number of items recorded per poll. Further ones are only counted."""
MAX_REASON_CHARACTERS = 1_000
OF_THE_WHOLE = (vertex.VertexError, ClaimLost, NotPermitted, OperationalError, InterfaceError)
"""Errors that are not those of one item, but of the scope, the database or the person."""

Row = TypeVar("Row", bound=models.Model)


class SetAside:
    """What one poll of one scope sets aside. `count` is the number of items."""

    def __init__(self, place: str, *, now: datetime) -> None:
        self._place, self._now = place, now
        self.count = 0

    @property
    def words(self) -> str:
        """The message to write on the scope's row, or ""."""
        if not self.count:
            return ""
        items = "1 item" if self.count == 1 else f"{self.count:,} items"
        return f"{items} could not be read or stored and were left out. “Set aside items” in the admin shows why."

    def put(self, item: str, reason: str, *, is_kept: bool = False) -> bool:
        """Record that an item was left out, or with `is_kept` that it was stored with parts cut.

        Return whether the item is recorded for the first time.
        """
        self.count += not is_kept
        return self.count <= MAX_NEW_ITEMS and _write(self._place, item, reason, is_kept, self._now)

    @contextmanager
    def item(self, name: str) -> Iterator[None]:
        """Run a block for one item in its own savepoint. An error of the item ends only the block."""
        try:
            with transaction.atomic():
                yield
        except OF_THE_WHOLE:
            raise
        except Exception as error:
            if is_outage(error):
                raise
            if self.put(name, f"{type(error).__name__}: {error}"):
                logger.exception("set aside %r of %s", name, self._place)
            else:
                logger.warning("set aside %r of %s again: %s", name, self._place, type(error).__name__)

    def store(
        self, rows: Sequence[Row], write: Callable[[Sequence[Row]], object], *, name: Callable[[Row], str]
    ) -> None:
        """Write rows in bulk with `write`, each made to fit. If that fails, write them one by one.

        `name` returns the display name of a row.
        """
        for row in rows:
            if cuts := storable.fit(row):
                self.put(name(row), f"Stored with parts changed to fit: {', '.join(cuts)}.", is_kept=True)
        try:
            with transaction.atomic():
                write(rows)
        except OF_THE_WHOLE:
            raise
        except Exception as error:
            if is_outage(error):
                raise
            # Whatever it was, each row is now tried alone, which shows it.
            for row in rows:
                with self.item(name(row)):
                    write([row])


def _write(place: str, item: str, reason: str, is_kept: bool, now: datetime) -> bool:
    met = SetAsideItem(
        place=place,
        item=item or "without a name",
        reason=bounds.bounded(reason, MAX_REASON_CHARACTERS),
        is_kept=is_kept,
        first_at=now,
        last_at=now,
    )
    storable.fit(met)
    with transaction.atomic():
        known = SetAsideItem.objects.filter(place=met.place, item=met.item)
        again = {"count": F("count") + 1, "last_at": now, "reason": met.reason, "is_kept": is_kept}
        is_new = not known.update(**again)
        if is_new:
            # Another worker may record the item for the first time at the same moment.
            SetAsideItem.objects.bulk_create([met], ignore_conflicts=True)
            # Delete the items seen longest ago.
            newest = SetAsideItem.objects.order_by("-last_at", "-pk").values_list("pk", flat=True)
            too_many = list(newest[MAX_ITEMS : MAX_ITEMS + MAX_NEW_ITEMS])
            if too_many:
                SetAsideItem.objects.filter(pk__in=too_many).delete()
    return is_new
