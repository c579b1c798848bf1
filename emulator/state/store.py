"""The records, in memory and written to SQLite after every change.

Only one emulator may use a folder, which a lock ensures. Changes are committed before a request is answered, so a
killed emulator loses nothing that it has answered. Disk synchronization is off, so a power cut may lose the last
second.
"""

import bisect
import contextlib
import fcntl
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from emulator.state import private
from emulator.state.records import Job, Record

R = TypeVar("R", bound=Record)
FILE, LOCK = "emulator.sqlite3", "lock"
FOLDERS = ("buckets", "work", "programs")
SCHEMA = """
create table if not exists records (kind text, name text primary key, data text not null) without rowid;
create table if not exists settings (name text primary key, data text not null) without rowid;
create table if not exists logs (
  number integer primary key, project text, job text, task text, moment integer, insert_id text,
  severity integer, payload text
);
create index if not exists logs_of_job on logs (job, moment, insert_id);
create index if not exists logs_of_project on logs (project, moment, insert_id);
"""


class FolderInUse(Exception):
    """Another emulator uses the state folder."""


class Store:
    """Records by kind and name. Not thread-safe: one event loop uses it."""

    def __init__(self, folder: Path) -> None:
        private.make_folder(folder, marks=(FILE, LOCK), parts=(*FOLDERS, LOCK))
        self._lock = (folder / LOCK).open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            self._lock.close()
            raise FolderInUse(f"another emulator uses {folder}") from problem
        private.make_file(folder / FILE)
        self.db = sqlite3.connect(folder / FILE, isolation_level=None, check_same_thread=False)
        self.db.executescript("pragma journal_mode=wal; pragma synchronous=off; pragma cache_size=-8000;" + SCHEMA)
        self._records: dict[str, dict[str, Record]] = {}
        self._ordered: dict[tuple[str, str], list[Record]] = {}
        self._labelled: dict[tuple[str, str, str], list[Record]] = {}
        self._last_seq = 0

    def close(self) -> None:
        """Close the database and unlock the folder."""
        self.db.close()
        self._lock.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit several writes once, also after an error, because the memory has already changed. May be nested."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("begin")
        try:
            yield
        finally:
            self.db.execute("commit")

    def load(self, kind: type[R]) -> list[R]:
        """Read all records of a kind from disk, oldest first."""
        known = {item.name for item in fields(kind)}
        rows = self.db.execute("select data from records where kind = ?", (kind.kind,))
        kept = (_renamed(json.loads(data)) for (data,) in rows)
        read = [kind(**{key: value for key, value in each.items() if key in known}) for each in kept]
        read.sort(key=lambda record: record.seq)
        for record in read:
            self._index(record)
        return read

    def next_seq(self) -> int:
        """Return the next number in the order of creation."""
        self._last_seq += 1
        return self._last_seq

    def _index(self, record: Record) -> None:
        self._records.setdefault(record.kind, {})[record.name] = record
        self._ordered.setdefault((record.kind, record.parent), []).append(record)
        if isinstance(record, Job):
            for label in record.document.get("labels", {}).items():
                self._labelled.setdefault((record.parent, *label), []).append(record)
        self._last_seq = max(self._last_seq, record.seq)

    def add(self, record: Record) -> None:
        """Add a new record."""
        self._index(record)
        self.save(record)

    def save(self, record: Record) -> None:
        """Write a record's current content to disk."""
        data = json.dumps({item.name: getattr(record, item.name) for item in fields(record)})
        row = (record.kind, record.name, data)
        self.db.execute("insert or replace into records (kind, name, data) values (?, ?, ?)", row)

    def remove(self, record: Record) -> None:
        """Delete a record."""
        self._records[record.kind].pop(record.name)
        self._ordered[record.kind, record.parent].remove(record)
        if isinstance(record, Job):
            for label in record.document.get("labels", {}).items():
                self._labelled[record.parent, *label].remove(record)
        self.db.execute("delete from records where name = ?", (record.name,))

    def get(self, kind: type[R], name: str) -> R | None:
        """Return a record by its full name."""
        record = self._records.get(kind.kind, {}).get(name)
        return record if isinstance(record, kind) else None

    def find(self, name: str) -> Record | None:
        """Return a record of any kind by its full name."""
        return self._records.get(name.split("/")[-2], {}).get(name)

    def all(self, kind: type[R]) -> list[R]:
        """Return all records of a kind, oldest first."""
        return [record for record in self._records.get(kind.kind, {}).values() if isinstance(record, kind)]

    def newest_first(
        self, kind: type[R], parent: str, *, before: int | None = None, label: tuple[str, str] | None = None
    ) -> Iterator[R]:
        """Yield a parent's records, newest first, with sequence numbers below `before`.

        `label` is a (key, value) that all wanted records have. It only shortens the search through custom jobs.
        """
        ordered = self._ordered.get((kind.kind, parent), [])
        if label is not None and issubclass(kind, Job):
            ordered = self._labelled.get((parent, *label), [])
        end = len(ordered) if before is None else bisect.bisect_left(ordered, before, key=lambda one: one.seq)
        for position in range(end - 1, -1, -1):
            record = ordered[position]
            if isinstance(record, kind):
                yield record

    def get_setting(self, name: str, default: Any = None) -> Any:
        """Return a named value that a control call has set."""
        row = self.db.execute("select data from settings where name = ?", (name,)).fetchone()
        return default if row is None else json.loads(row[0])

    def set_setting(self, name: str, value: Any) -> None:
        """Write a named value."""
        self.db.execute("insert or replace into settings (name, data) values (?, ?)", (name, json.dumps(value)))


def _renamed(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record's content with current names. A job's script was formerly called its story."""
    if "story" not in data:
        return data
    timers = {key.replace("story:", "script:"): due for key, due in data["timers"].items()}
    return data | {"script": data["story"], "script_times": data.get("story_times", {}), "timers": timers}
