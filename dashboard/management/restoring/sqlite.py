"""Restore a copy of an SQLite database, as SQLite's backup command makes it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from dashboard.management.restoring import Migrations, RestoreError, stamp
from dashboard.management.supervisor import claim

MAGIC = b"SQLite format 3\0"


class SqliteRestore:
    """The present database file, and the new one beside it. Renaming the new one onto the present one is atomic."""

    def __init__(self, present: Path) -> None:
        self.present, self._stamp = present, stamp()
        self.new = present.with_name(f"{present.name}.restored_{self._stamp}")

    def check(self, backup: Path) -> None:
        """Raise RestoreError if the backup has another format, or a process uses the present database."""
        with backup.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise RestoreError(f"{backup} is not an SQLite database, and this site uses SQLite.")
        if self.present.exists() and backup.samefile(self.present):
            raise RestoreError(f"{backup} is the present database.")
        self._check_idle()

    def load(self, backup: Path) -> str:
        """Copy the backup into the new file and check it. Return the DATABASE_URL of the new database."""
        self.new.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.new.touch(mode=0o600)
        # Opened for writing, because a copy of a running database may come with a write-ahead log.
        with closing(sqlite3.connect(backup)) as source, closing(sqlite3.connect(self.new)) as target:
            try:
                source.backup(target)
                problems = [row[0] for row in target.execute("PRAGMA integrity_check(3)")]
            except sqlite3.DatabaseError as error:
                raise RestoreError(f"{backup} cannot be read: {error}") from None
        if problems != ["ok"]:
            raise RestoreError(f"{backup} is damaged: {'; '.join(problems)}")
        return f"sqlite:///{self.new}"

    def migrations(self) -> Migrations:
        """Return the migrations that the new database has."""
        with closing(sqlite3.connect(self.new)) as database:
            try:
                return set(database.execute("SELECT app, name FROM django_migrations"))
            except sqlite3.OperationalError:
                return set()

    def switch(self) -> list[str]:
        """Put the new file in the place of the present one, which is kept. Return what was done as sentences."""
        _fold_log(self.new)
        if not self.present.exists():
            self.new.rename(self.present)
            return [f"{self.present} is the restored database."]
        try:
            self._check_idle()
        except RestoreError as error:
            raise RestoreError(f"{error} The restored database is complete: {self.new}") from None
        kept = self.present.with_name(f"{self.present.name}.before_{self._stamp}")
        kept.hardlink_to(self.present)
        self.new.replace(self.present)
        return [f"{self.present} is the restored database.", f"The database before is kept as {kept}."]

    def discard(self) -> None:
        """Delete the new file."""
        for ending in ("", "-wal", "-shm", "-journal"):
            self.new.with_name(self.new.name + ending).unlink(missing_ok=True)

    def _check_idle(self) -> None:
        if not self.present.exists():
            return
        running = claim.running(self.present.parent)
        if running is not None:
            raise RestoreError(f"`manage.py up` runs on {self.present.parent}. Stop it first.")
        try:
            _fold_log(self.present)
        except sqlite3.OperationalError as error:
            raise RestoreError(f"A process uses {self.present}. Stop it first. ({error})") from None
        except sqlite3.DatabaseError:
            return  # the present database is damaged, which may be why it is replaced


def _fold_log(path: Path) -> None:
    """Move the write-ahead log into the file, so that the file is complete. Fails while a process has it open."""
    with closing(sqlite3.connect(path, timeout=1)) as database:
        database.execute("PRAGMA journal_mode=DELETE").fetchone()
