"""Restore a dump of PostgreSQL: an archive with pg_restore, and a dump in plain format without a program.

A password is passed in the environment, which other users of the machine cannot read, never as an argument.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db import connection
from psycopg import sql
from psycopg.conninfo import make_conninfo

from dashboard import env
from dashboard.management.restoring import Migrations, RestoreError, stamp

MAGIC = b"PGDMP"
COMPLETE = b"-- PostgreSQL database dump complete"
NO_LIMITS = "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0"
MAINTENANCE = ("postgres", "template1")
"""Databases that exist on every server. A database cannot be renamed by a session that uses it."""
MAX_NAME_LENGTH = 63
SHOWN_LINES = 20


class PostgresRestore:
    """The present database and the new one on the same server. Both are renamed in one transaction."""

    def __init__(self, url: str) -> None:
        self._url, self._stamp = url, stamp()
        keywords = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
        parameters: dict[str, Any] = connection.get_connection_params()
        self._parameters = {name: value for name, value in parameters.items() if name in keywords}
        self._parameters["options"] = f"{self._parameters.get('options', '')} {NO_LIMITS}".strip()
        self.present: str = connection.settings_dict["NAME"]
        self.new = self._named("restored")
        self.kept = self._named("before")

    def _named(self, word: str) -> str:
        ending = f"_{word}_{self._stamp}"
        return self.present[: MAX_NAME_LENGTH - len(ending)] + ending

    def check(self, backup: Path) -> None:
        """Raise RestoreError if a program is missing, the format is another one, or somebody uses the database."""
        if not _is_archive(backup):
            with backup.open("rb") as file:
                if b"PostgreSQL database dump" not in file.read(4096):
                    raise RestoreError(f"{backup} is not a dump of one database made by pg_dump.")
        elif shutil.which("pg_restore") is None:
            raise RestoreError(
                "pg_restore is not installed here. Convert the archive where it is: pg_restore --no-owner"
                " --no-privileges --file - ARCHIVE > DUMP.sql"
            )
        with self._maintenance() as database:
            self._check_idle(database)

    def load(self, backup: Path) -> str:
        """Create the new database and restore the dump in one transaction. Return its DATABASE_URL."""
        try:
            with self._maintenance() as database:
                database.autocommit = True
                database.execute(self._create_statement(database))
        except psycopg.errors.InsufficientPrivilege as error:
            raise RestoreError(
                f"The account may not create a database: {error}. Give it the attribute CREATEDB for the restore."
            ) from None
        (self._load_archive if _is_archive(backup) else self._load_text)(backup)
        return self._url_of(self.new)

    def migrations(self) -> Migrations:
        """Return the migrations that the new database has."""
        with self._connect(self.new) as database:
            try:
                return set(database.execute("SELECT app, name FROM django_migrations").fetchall())
            except psycopg.errors.UndefinedTable:
                return set()

    def switch(self) -> list[str]:
        """Rename both databases in one transaction. Return what was done as sentences."""
        renames = [(self.present, self.kept), (self.new, self.present)]
        statements = [sql.SQL("ALTER DATABASE {} RENAME TO {}").format(*map(sql.Identifier, pair)) for pair in renames]
        try:
            with self._maintenance() as database:
                if not self._exists(database):
                    del statements[0]
                else:
                    self._check_idle(database)
                for statement in statements:
                    database.execute(statement)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ObjectInUse, RestoreError) as error:
            raise RestoreError(
                f"The databases were not renamed: {error}\n"
                f"The restored database is complete: {self.new}. Stop the site's processes, and start them with\n"
                f"DATABASE_URL={_without_password(self._url_of(self.new))}"
            ) from None
        kept = f" The database before is kept as {self.kept}." if len(statements) > 1 else ""
        return [f"{self.present} is the restored database.{kept}"]

    def discard(self) -> None:
        """Drop the new database."""
        with self._maintenance() as database:
            database.autocommit = True
            database.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(self.new)))

    def _load_archive(self, backup: Path) -> None:
        parameters = self._parameters | {"dbname": self.new}
        password = parameters.pop("password", None)
        environment = env.inherited(**({"PGPASSWORD": password} if password else {}))
        command = ["pg_restore", "--exit-on-error", "--no-owner", "--no-privileges", "--single-transaction"]
        command += ["--dbname", make_conninfo(**parameters), str(backup)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shown = "\n".join(done.stderr.splitlines()[:SHOWN_LINES])
            raise RestoreError(f"pg_restore failed:\n{shown}")

    def _load_text(self, backup: Path) -> None:
        """Execute a dump in plain format: SQL, and rows after each COPY up to a line with a backslash and a dot.

        Rows are text of people. They cannot be taken for SQL, because a dump with INSERT is refused.
        """
        statements: list[bytes] = []
        try:
            with self._connect(self.new) as database, backup.open("rb") as file:
                for line in file:
                    if line.startswith(b"COPY ") and line.rstrip().endswith(b" FROM stdin;"):
                        _execute(database, statements)
                        with database.cursor().copy(line) as copy:
                            for row in iter(file.readline, b"\\.\n"):
                                if not row:
                                    raise RestoreError(f"{backup} is cut off.")
                                copy.write(row)
                    elif line.startswith((b"INSERT INTO", b"\\connect")):
                        raise RestoreError(f"{backup} was made with --inserts or --create. Make it without.")
                    elif not line.startswith(b"\\"):  # commands of psql, such as \\restrict
                        statements.append(line)
                if not any(line.startswith(COMPLETE) for line in statements):
                    raise RestoreError(f"{backup} is cut off.")
                _execute(database, statements)
        except psycopg.Error as error:
            raise RestoreError(f"{backup} cannot be restored: {error}") from None

    # ------------------------------------------------------------ helpers
    def _create_statement(self, database: "psycopg.Connection[Any]") -> sql.Composed:
        """Return the statement that creates the new database, with the sort order of the present one."""
        question = "SELECT datcollate, datctype FROM pg_database WHERE datname = %s"
        found = database.execute(question, [self.present]).fetchone()
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(sql.Identifier(self.new))
        if found is not None:
            statement += sql.SQL(" LC_COLLATE {} LC_CTYPE {}").format(*map(sql.Literal, found))
        return statement

    def _exists(self, database: "psycopg.Connection[Any]") -> bool:
        return database.execute("SELECT 1 FROM pg_database WHERE datname = %s", [self.present]).fetchone() is not None

    def _check_idle(self, database: "psycopg.Connection[Any]") -> None:
        (count,) = database.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [self.present]
        ).fetchone() or (0,)
        if count:
            sessions = "1 session uses" if count == 1 else f"{count} sessions use"
            raise RestoreError(f"{sessions} the database {self.present}. Stop the site's processes first.")

    def _maintenance(self) -> "psycopg.Connection[Any]":
        for name in MAINTENANCE:
            try:
                return self._connect(name)
            except psycopg.OperationalError as error:
                failure = error
        raise RestoreError(f"Neither of the databases {' and '.join(MAINTENANCE)} can be used: {failure}")

    def _connect(self, name: str) -> "psycopg.Connection[Any]":
        return psycopg.connect(**self._parameters | {"dbname": name})

    def _url_of(self, name: str) -> str:
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))


def _execute(database: "psycopg.Connection[Any]", statements: list[bytes]) -> None:
    """Execute the collected lines of SQL, and begin a new collection."""
    if text := b"".join(statements).strip():
        database.execute(text)
    statements.clear()


def _is_archive(backup: Path) -> bool:
    with backup.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    return urlunsplit(parts._replace(netloc=f"{name}:PASSWORD@{host}" if colon else parts.netloc))
