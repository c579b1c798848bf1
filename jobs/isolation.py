"""Keep failures apart: rows of one stage from each other, and faults in the data from an outage of the database."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from django.db import Error, InterfaceError, InternalError, OperationalError

logger = logging.getLogger(__name__)

Row = TypeVar("Row")

READ_ONLY = "25006"
"""The server refuses to write: it was demoted to a standby (PostgreSQL manual, "PostgreSQL Error Codes")."""
BUSY_STATES = frozenset({"55P03", "57014", "40001", "40P01"})
"""A lock or statement timeout, a serialization failure, a deadlock: the server answers, and one statement failed."""
BUSY_CODES = frozenset({1, 5, 6})
"""SQLITE_ERROR (such as a missing column), SQLITE_BUSY and SQLITE_LOCKED; others mean the file or its disk."""


class RowsFailed(Exception):
    """Some rows of a stage failed, and the others were handled. The log has the traceback of each."""

    def __init__(self, what: str, number: int, reason: str) -> None:
        """Create the error. `reason` describes the failure of the first row."""
        super().__init__(f"{what} failed, {number} in all; the first: {reason}")
        self.number, self.reason = number, reason


def take_each(rows: Iterable[Row], step: Callable[[Row], int], *, what: str) -> int:
    """Take a step with every row and return the sum of what the steps return.

    A step that raises, because of a fault in the program or in the row's data, does not delay the other rows. After
    the last row, raise RowsFailed if a step has raised. Raise an outage of the database at once.
    """
    count, failures = 0, list[Exception]()
    for row in rows:
        try:
            count += step(row)
        except Exception as error:
            if is_outage(error):
                raise
            if not isinstance(error, RowsFailed):  # of the rows in a part, which the log has already
                logger.exception("%s failed: %s", what, row)
            failures.append(error)
    if failures:
        first = failures[0]
        number = sum(error.number if isinstance(error, RowsFailed) else 1 for error in failures)
        reason = first.reason if isinstance(first, RowsFailed) else describe(first)
        raise RowsFailed(what, number, reason) from first
    return count


def take_portions(rows: Sequence[Row], step: Callable[[Sequence[Row]], int], *, what: str) -> int:
    """Take a step with all rows together and return what it returns, the sum if it was taken in parts.

    If it raises, take it with each half, so that in the end only the rows at fault are left out. The step undoes what
    it has written when it raises. A lock or another timeout of the database is raised, because a smaller part would
    wait for it as long. Otherwise as `take_each`.
    """
    if len(rows) <= 1:
        return take_each(rows, lambda row: step([row]), what=what)
    try:
        return step(rows)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) or is_outage(error):
            raise
    half = len(rows) // 2
    return take_each([rows[:half], rows[half:]], lambda part: take_portions(part, step, what=what), what=what)


def leave_standby(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    """Run a statement; if the server was demoted to a standby, close the connection, so that the next one is new.

    A standby answers every health check, so the connection would stay in use. An execute wrapper of Django.
    """
    try:
        return execute(sql, params, many, context)
    except InternalError as error:
        if is_outage(error):
            logger.error("the database server accepts no writes any more; connecting again")
            context["connection"].close()
        raise


def describe(error: Exception) -> str:
    """Return the type and the message of an exception, in at most 300 characters."""
    return (str(error) if isinstance(error, RowsFailed) else f"{type(error).__name__}: {error}")[:300]


def is_outage(error: Exception) -> bool:
    """Return whether the database does not answer or refuses every write, so that no other statement would work.

    A timeout, a deadlock or a violated constraint is no outage: it concerns one statement and its rows.
    """
    if not isinstance(error, Error):
        return False
    cause = error.__cause__
    if isinstance(error, InternalError):
        return getattr(cause, "sqlstate", None) == READ_ONLY
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    if (code := getattr(cause, "sqlite_errorcode", None)) is not None:
        return code & 0xFF not in BUSY_CODES
    return getattr(cause, "sqlstate", None) not in BUSY_STATES
