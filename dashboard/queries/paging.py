"""Pages of long lists. Each begins after the last row of the previous page, so all pages are equally fast.

A list is ordered by time, newest first, and by primary key for equal times.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Model, Q

from jobs.bounds import parse_digits, utc_moment

BY_NUMBER = (F("pk") + 0).asc()
"""The order of primary keys, for some rows of one job. An expression makes PostgreSQL sort the job's rows. For the
plain column it may scan the primary keys of all jobs."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position of a page's last row in the list. Its text is part of the next page's URL."""

    at: datetime
    pk: UUID | int

    def __str__(self) -> str:
        return f"{self.at.isoformat()}~{self.pk}"

    def after(self, column: str) -> Q:
        """Return the condition for the rows after this one in a list ordered by `-column, pk`.

        The first part lets an index start at the right position. The second part excludes rows already shown.
        """
        later = Q(**{f"{column}__lt": self.at}) | Q(**{column: self.at, "pk__gt": self.pk})
        return Q(**{f"{column}__lte": self.at}) & later


def cursor_at(row: Model, column: str) -> Cursor:
    """Return the cursor of a row in a list ordered by `-column, pk`."""
    return Cursor(getattr(row, column), row.pk)


def parse_cursor(text: str, key: type[UUID] | type[int] = UUID) -> Cursor | None:
    """Return the cursor in a URL, None if it is missing or invalid.

    `key` is the type of the primary keys of the list.
    """
    moment, _, last = text.partition("~")
    try:
        # The + of an offset from UTC arrives as a blank where an address has it as it is.
        at = utc_moment(datetime.fromisoformat(moment.replace(" ", "+")))
        pk = parse_digits(last) if key is int else UUID(last)
    except ValueError:
        return None
    return None if at is None or pk is None else Cursor(at, pk)
