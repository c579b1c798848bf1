"""Several writes as one SQLite transaction."""

import contextlib
import sqlite3
from collections.abc import Iterator


@contextlib.contextmanager
def together(db: sqlite3.Connection) -> Iterator[None]:
    """Commit once at the end, whatever happens: memory has moved on, so the disk must follow. May be nested."""
    if db.in_transaction:
        yield
        return
    db.execute("begin")
    try:
        yield
    finally:
        db.execute("commit")
