"""Pages of long lists: each begins after the last row of the one before, so the thousandth is as quick as the first.

A list is ordered by a moment, newest first, and by the primary key among equal moments.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q

from jobs.bounds import utc_moment
from jobs.models import Job

BY_NUMBER = (F("pk") + 0).asc()
"""The order of primary keys, for some rows of one job. It is an expression, so that PostgreSQL sorts the job's rows:
for the column itself it may walk the primary keys of all jobs.
"""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row of a page: its place in the list. As text it stands in the address of the next page."""

    at: datetime
    pk: UUID | int

    def __str__(self) -> str:
        return f"{self.at.isoformat()}~{self.pk}"

    def after(self, column: str) -> Q:
        """Return the condition for the rows after this one in a list that is ordered by `-column, pk`.

        The first part alone lets an index begin at the right place; the second leaves out what was shown.
        """
        later = Q(**{f"{column}__lt": self.at}) | Q(**{column: self.at, "pk__gt": self.pk})
        return Q(**{f"{column}__lte": self.at}) & later


@dataclass(frozen=True, slots=True)
class Page:
    """One page of jobs; `older` is the cursor of the next one, "" on the last page."""

    jobs: list[Job]
    older: str
    is_first: bool


def cursor_at(job: Job, column: str) -> Cursor:
    """Return the cursor of a row of a list that is ordered by `-column, pk`."""
    return Cursor(getattr(job, column), job.pk)


def parse_cursor(text: str, key: type[UUID] | type[int] = UUID) -> Cursor | None:
    """Return the cursor that an address holds; None for one that is absent or cannot be read.

    `key` is the type of the primary keys of the list.
    """
    moment, _, last = text.partition("~")
    try:
        at, pk = utc_moment(datetime.fromisoformat(moment.replace(" ", "+"))), key(last)
    except ValueError:
        return None
    return Cursor(at, pk) if at is not None else None
