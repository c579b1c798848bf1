"""Real databases below the simulated processes: connections that wait, fail and crash, and snapshots of everything."""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import DatabaseWrapper as SqliteWrapper
from django.db.utils import DEFAULT_DB_ALIAS

from tests.simulation.kernel import Killed
from tests.simulation.site.process import Process

WRITES = ("BEGIN", "INSERT", "UPDATE", "DELETE", "REPLACE")
INIT = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
LOCK_SECONDS = 20.0
"""How long a connection waits for the write lock, as in `dashboard.databases`."""
Execute = Callable[[str, Any, bool, Any], Any]


class Connection(BaseDatabaseWrapper):
    """A connection of one process, for a class below that knows how statements wait for each other.

    `generation` is that of the database it was opened to. With any other, no statement succeeds until it is closed.
    """

    def __init__(self, database: Any, process: Process) -> None:
        self.database, self.process, self.generation = database, process, database.generation
        super().__init__(database.settings(), DEFAULT_DB_ALIAS)
        self._wrapping = self.execute_wrapper(self._run)  # kept, because its end would take the wrapper out again
        self._wrapping.__enter__()

    def get_connection_params(self) -> dict[str, Any]:
        """Connect to the database that is in place now."""
        self.generation = self.database.generation
        self.settings_dict["NAME"] = self.database.name
        return super().get_connection_params()

    def close_if_stale(self) -> None:
        """Close a connection that is broken, or to a database that was replaced, as the check before a task does."""
        if self.connection is not None and self.generation != self.database.generation:
            self.close()

    def commit(self) -> None:
        """Commit. The process may die or lose its connection before, so that all is lost, or after, unknowingly."""
        try:
            self.process.pause()
            self._check_generation()
        except BaseException:
            self.rollback()
            raise
        super().commit()
        self.database.unlock(self)
        self.process.pause()

    def rollback(self) -> None:
        """Roll back and give the locks to others."""
        try:
            super().rollback()
        finally:
            self.database.unlock(self)

    def close(self) -> None:
        """Close the connection, which loses an open transaction."""
        try:
            super().close()
        finally:
            self.database.unlock(self)

    def _run(self, execute: Execute, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.process.pause()
        self._check_generation()
        return self._execute(partial(execute, sql, params, many, context), sql)

    def _execute(self, execute: Callable[[], Any], sql: str) -> Any:
        """Run a statement when the locks that it needs are free."""
        raise NotImplementedError

    def _wait(self, ends: float) -> None:
        """Let others run, because a lock is not free."""
        kernel = self.process.kernel
        if kernel.seconds > ends:
            raise OperationalError("canceling statement due to lock timeout")
        kernel.sleep(0.01 + 0.02 * kernel.random.random())
        if self.process.is_killed:
            raise Killed
        self._check_generation()

    def _check_generation(self) -> None:
        """Raise OperationalError after the database was replaced, as a server does that was restored and restarted."""
        if self.generation != self.database.generation:
            self.process.lose_connection("The database was replaced.")


class SqliteConnection(Connection, SqliteWrapper):
    """A connection to the file. SQLite's own lock would block the only thread, so the write lock is taken here."""

    def _execute(self, execute: Callable[[], Any], sql: str) -> Any:
        if sql.lstrip().upper().startswith(WRITES) and self.database.writer is not self:
            ends = self.process.kernel.seconds + LOCK_SECONDS
            while self.database.writer is not None:
                self._wait(ends)
            if sql.startswith("BEGIN"):
                self.database.writer = self
        return execute()


class SqliteDatabase:
    """The file of one simulation in a folder in memory, where possible. `writer` holds the write lock.

    `generation` grows when the file is replaced, which breaks the connections to the file before.
    """

    restores_in_place = True
    """Whether a restore may leave the connections open."""

    def __init__(self, template: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=template.parent))
        self._template, self.file = template, template
        self.writer: SqliteConnection | None = None
        self.generation = 0
        self._observer: sqlite3.Connection | None = None

    @property
    def name(self) -> str:
        """The NAME of Django's settings."""
        return str(self.file)

    def settings(self) -> dict[str, Any]:
        """Return Django's settings for a connection."""
        kept = dict(connections.settings[DEFAULT_DB_ALIAS])
        return kept | {"OPTIONS": dict(kept["OPTIONS"]) | {"timeout": 0, "init_command": INIT}}

    def reset(self) -> None:
        """Begin again with the template."""
        for old in self._folder.glob("site-*"):
            old.unlink()
        self._replace(self._template)

    def connect(self, process: Process) -> SqliteConnection:
        """Return the connection of a new process."""
        return SqliteConnection(self, process)

    def ask(self, sql: str, **values: str) -> Any:
        """Return the first value of a query that no process of the site makes, and that takes no time."""
        if self._observer is None:
            self._observer = sqlite3.connect(self.file)
        return self._observer.execute(re.sub(r"%\((\w+)\)s", r":\1", sql), values).fetchone()[0]

    def unlock(self, connection: SqliteConnection) -> None:
        """Give the write lock back if this connection holds it."""
        if self.writer is connection:
            self.writer = None

    def back_up(self) -> Path:
        """Return a file with all that is committed now."""
        target = self._folder / "backup.sqlite3"
        copy_database(self.file, target)
        return target

    def restore(self, backup: Path, *, drops_connections: bool) -> None:
        """Put a backup in place: as another file, which breaks all connections, or inside the same one."""
        if drops_connections:
            self._replace(backup)
            return
        if self.writer is not None:  # a restore needs the whole database, and an open transaction is lost
            self.writer.generation = -1
            self.writer.connection.rollback()
            self.writer = None
        copy_database(backup, self.file)

    def _replace(self, source: Path) -> None:
        """Put a copy of a file in place, under another name: open connections stay with the file before."""
        self.generation += 1
        self.writer = None
        self.file = self._folder / f"site-{self.generation}.sqlite3"
        shutil.copyfile(source, self.file)
        if self._observer is not None:
            self._observer.close()
            self._observer = None


def copy_database(source: Path, target: Path) -> None:
    """Copy everything that is committed, into a file that may be in use."""
    with closing(sqlite3.connect(source)) as reader, closing(sqlite3.connect(target)) as writer:
        reader.backup(writer)
