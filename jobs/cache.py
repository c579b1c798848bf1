"""In-process caches for rows that change rarely, such as site-wide settings that previews and pages read often.

Permissions, roles, sessions, budgets and votes are never cached.
"""

import threading
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import models, transaction
from django.db.models.signals import post_delete, post_save

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
SECONDS = 10
MAX_KEPT = 200
"""Default number of values of one kind; if a cache would hold more, it is emptied."""
_all: "list[Recent[Any, Any] | Unchanged[Any, Any]]" = []


class Recent(Generic[Key, Value]):
    """Values by key, each at most `seconds` old; shared by the threads of a process.

    A change saved by this process is seen at once, a change by another process after at most `seconds`. After a write
    that sends no signal, such as `bulk_create`, call `forget_changed`.
    """

    def __init__(
        self, load: Callable[[Key, datetime], Value], *, seconds: float = SECONDS, max_kept: int = MAX_KEPT
    ) -> None:
        self._load, self._period, self._max_kept = load, timedelta(seconds=seconds), max_kept
        self._kept: dict[Key, tuple[datetime, Value]] = {}
        self._lock = threading.Lock()
        _all.append(self)

    def get(self, key: Key, now: datetime) -> Value:
        """Return the value of a key, at most `seconds` older than `now`."""
        with self._lock:
            kept, before = self._kept.get(key), self._kept
        if kept is not None and timedelta() <= now - kept[0] <= self._period:
            return kept[1]
        value = self._load(key, now)
        with self._lock:
            if self._kept is before:  # else a value changed during the load
                if len(self._kept) >= self._max_kept:
                    self._kept.clear()
                self._kept[key] = now, value
        return value

    def forget(self) -> None:
        """Discard all values."""
        with self._lock:
            self._kept = {}

    def forget_changed(self, **_: Any) -> None:
        """Discard all values now, and after the commit, when others can read the change; also a signal receiver."""
        self.forget()
        transaction.on_commit(self.forget)

    def forget_when_saved(self, model: type[models.Model]) -> None:
        """Discard all values whenever this process saves or deletes a row of a model."""
        for signal in (post_save, post_delete):
            signal.connect(self.forget_changed, sender=model, weak=False)


class Unchanged(Generic[Key, Value]):
    """Values by key, each kept for at most `seconds` while its version is unchanged; shared by a process's threads.

    Callers share the values too, so nothing may modify them.
    """

    def __init__(self, *, seconds: float, max_kept: int) -> None:
        self._period, self._max_kept = timedelta(seconds=seconds), max_kept
        self._kept: dict[Key, tuple[datetime, object, Value]] = {}
        _all.append(self)

    def get(self, key: Key, version: object, now: datetime) -> Value | None:
        """Return the value stored with this version; None if there is none or its version or age does not match."""
        kept = self._kept.get(key)
        if kept is None or kept[1] != version or not timedelta() <= now - kept[0] <= self._period:
            return None
        return kept[2]

    def keep(self, key: Key, version: object, value: Value, now: datetime) -> None:
        """Store a value that was read at `now`; if the cache is full, discard all others first."""
        if len(self._kept) >= self._max_kept:
            self.forget()
        self._kept[key] = now, version, value

    def forget(self) -> None:
        """Discard all values."""
        self._kept = {}


def forget_all() -> None:
    """Discard the values of all caches in this process."""
    for each in _all:
        each.forget()
