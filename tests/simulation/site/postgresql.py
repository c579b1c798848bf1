"""PostgreSQL below the simulated processes: row locks are its own, and a process that waits for one lets others run."""

import os
from collections.abc import Callable
from typing import Any

import psycopg
from django.db import OperationalError, connections
from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper
from django.db.utils import DEFAULT_DB_ALIAS
from psycopg import sql as parts

from tests.simulation.site.databases import LOCK_SECONDS, WRITES, Connection
from tests.simulation.site.process import Process

WORLD = "simulated_world"
SAVEPOINT = "SAVEPOINT simulation"
Backup = tuple[dict[str, bytes], dict[str, int]]
"""The content of each table, and the last number of each sequence that was used."""


class PostgresConnection(Connection, PostgresWrapper):
    """A connection whose statements give up after a millisecond without the lock, and are tried again later.

    A statement in a transaction begins with a savepoint, so that giving up loses only the statement.
    """

    def _execute(self, execute: Callable[[], Any], sql: str) -> Any:
        may_wait = sql.lstrip().upper().startswith(WRITES) or "FOR UPDATE" in sql or "FOR NO KEY" in sql
        if not may_wait:
            return execute()
        ends, is_inside = self.process.kernel.seconds + LOCK_SECONDS, self.in_atomic_block
        while True:
            try:
                if is_inside:
                    self.connection.execute(SAVEPOINT)
                result = execute()
                if is_inside:
                    self.connection.execute(f"RELEASE {SAVEPOINT}")
            except OperationalError as error:
                if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                    raise
                if is_inside:
                    self.connection.execute(f"ROLLBACK TO {SAVEPOINT}")
                self._wait(ends)
            else:
                return result


class PostgresDatabase:
    """The database of one simulation on the configured server, each time a copy of the world."""

    restores_in_place = False
    """A restore puts another database in place, which breaks every connection."""

    def __init__(self) -> None:
        self.generation = 0
        self._used: list[str] = []
        self._observer: psycopg.Connection[Any] | None = None

    @property
    def name(self) -> str:
        """The NAME of Django's settings."""
        return f"simulation_{os.getpid()}_{self.generation}"

    def settings(self) -> dict[str, Any]:
        """Return Django's settings for a connection."""
        kept = dict(connections.settings[DEFAULT_DB_ALIAS])
        options = dict(kept["OPTIONS"])
        return kept | {"OPTIONS": options | {"options": f"{options.get('options', '')} -c lock_timeout=1ms"}}

    def reset(self) -> None:
        """Begin again with the world."""
        for name in self._used:
            administer("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        self._used.clear()
        self._replace()

    def connect(self, process: Process) -> PostgresConnection:
        """Return the connection of a new process."""
        return PostgresConnection(self, process)

    def ask(self, sql: str, **values: str) -> Any:
        """Return the first value of a query that no process of the site makes, and that takes no time."""
        assert self._observer is not None
        row = self._observer.execute(sql, values).fetchone()  # type: ignore[arg-type]
        return row[0] if row else None

    def back_up(self) -> Backup:
        """Return the rows of every table that are committed now, as PostgreSQL's COPY writes them, and the sequences.

        A copy by CREATE DATABASE would need a moment without connections.
        """
        with connect(self.name) as reader, reader.transaction():
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            rows: dict[str, bytes] = {}
            for (table,) in reader.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall():
                with reader.cursor().copy(parts.SQL("COPY {} TO STDOUT").format(parts.Identifier(table))) as copy:
                    rows[table] = b"".join(copy)
            numbers = "SELECT sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL"
            return rows, dict(reader.execute(numbers).fetchall())

    def restore(self, backup: Backup, *, drops_connections: bool) -> None:
        """Put a database with the rows of a backup in place, under another name, which breaks all connections."""
        assert drops_connections
        self._replace()
        rows, numbers = backup
        with connect(self.name) as writer, writer.transaction():
            writer.execute("SET LOCAL session_replication_role = replica")  # no order of foreign keys
            tables = parts.SQL(", ").join(map(parts.Identifier, rows))
            writer.execute(parts.SQL("TRUNCATE {}").format(tables))
            for table, content in rows.items():
                with writer.cursor().copy(parts.SQL("COPY {} FROM STDIN").format(parts.Identifier(table))) as copy:
                    copy.write(content)
            for name, number in numbers.items():
                writer.execute("SELECT setval(%s, %s)", [name, number])

    def _replace(self) -> None:
        """Put a copy of the world in place. Connections to the database before stay open until the next run."""
        if self._observer is not None:
            self._observer.close()
        self.generation += 1
        self._used.append(self.name)
        administer("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", self.name, WORLD)
        self._observer = connect(self.name)

    def unlock(self, connection: PostgresConnection) -> None:
        """Do nothing: the server gives locks back by itself."""


def connect(name: str) -> "psycopg.Connection[Any]":
    """Return a connection to a database of the configured server, outside of Django."""
    kept = connections.settings[DEFAULT_DB_ALIAS]
    return psycopg.connect(dbname=name, host=kept["HOST"], user=kept["USER"], autocommit=True)


def administer(words: str, *names: str) -> None:
    """Run a statement about databases."""
    with connect("postgres") as connection:
        connection.execute(parts.SQL(words).format(*map(parts.Identifier, names)))
