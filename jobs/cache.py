"""What a process keeps of rows that change rarely: site-wide settings that previews and pages ask for again and again.

Rights, roles, sessions, budgets and votes are never kept.
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
"""Values of one kind by default; where there are more, all are read anew."""
_all: "list[Recent[Any, Any] | Unchanged[Any, Any]]" = []


class Recent(Generic[Key, Value]):
    """Values by key, each at most `seconds` old; shared by the threads of a process.

    A change that this process saves counts at once, one of another process after `seconds` at most. After writing by a
    query, such as `bulk_create`, call `forget_changed`.
    """

    def __init__(
        self, load: Callable[[Key, datetime], Value], *, seconds: float = SECONDS, max_kept: int = MAX_KEPT
    ) -> None:
        self._load, self._period, self._max_kept = load, timedelta(seconds=seconds), max_kept
        self._kept: dict[Key, tuple[datetime, Value]] = {}
        self._lock = threading.Lock()
        _all.append(self)

    def get(self, key: Key, now: datetime) -> Value:
        """Return the value of a key as it was at most `seconds` before `now`."""
        with self._lock:
            kept, before = self._kept.get(key), self._kept
        if kept is not None and timedelta() <= now - kept[0] <= self._period:
            return kept[1]
        value = self._load(key, now)
        with self._lock:
            if self._kept is before:  # else something has changed while it was read
                if len(self._kept) >= self._max_kept:
                    self._kept.clear()
                self._kept[key] = now, value
        return value

    def forget(self) -> None:
        """Read every value anew at the next question."""
        with self._lock:
            self._kept = {}

    def forget_changed(self, **_: Any) -> None:
        """Read values anew after a change: now, and once more when others can read it; receives signals too."""
        self.forget()
        transaction.on_commit(self.forget)

    def forget_when_saved(self, model: type[models.Model]) -> None:
        """Read values anew after this process has saved or deleted a row of a model."""
        for signal in (post_save, post_delete):
            signal.connect(self.forget_changed, sender=model, weak=False)


class Unchanged(Generic[Key, Value]):
    """Values by key, each kept while its version stays, at most `seconds`; shared by the threads of a process.

    The values are shared as well, so nothing may change them.
    """

    def __init__(self, *, seconds: float, max_kept: int) -> None:
        self._period, self._max_kept = timedelta(seconds=seconds), max_kept
        self._kept: dict[Key, tuple[datetime, object, Value]] = {}
        _all.append(self)

    def get(self, key: Key, version: object, now: datetime) -> Value | None:
        """Return the value that was kept with this version; None where there is none, or only an older one."""
        kept = self._kept.get(key)
        if kept is None or kept[1] != version or not timedelta() <= now - kept[0] <= self._period:
            return None
        return kept[2]

    def keep(self, key: Key, version: object, value: Value, now: datetime) -> None:
        """Keep a value that was read at `now`; where there are too many, forget all others."""
        if len(self._kept) >= self._max_kept:
            self.forget()
        self._kept[key] = now, version, value

    def forget(self) -> None:
        """Read every value anew at the next question."""
        self._kept = {}


def forget_all() -> None:
    """Read everything anew at the next question, in this process."""
    for each in _all:
        each.forget()
