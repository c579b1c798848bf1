"""Timers of records: kept in the record (`timers`), found in order through one heap."""

import heapq
from collections.abc import Callable

from emulator.lifecycle.clock import Clock, SetClock
from emulator.state.records import Record


class Timers:
    """Calls `fire(record, key)` when a timer is due. A timer that was moved or dropped leaves a stale heap entry."""

    def __init__(self, clock: Clock, find: Callable[[str], Record | None], fire: Callable[[Record, str], None]) -> None:
        self._clock = clock
        self._find = find
        self._fire = fire
        self._heap: list[tuple[float, int, str, str]] = []
        self._count = 0
        self.changed: Callable[[], None] = lambda: None
        """Called when a timer was set: whoever sleeps until `next_due` looks again."""

    def set(self, record: Record, key: str, seconds: float) -> None:
        """Let `key` be due in so many seconds; an earlier setting of the key is forgotten."""
        self.restore(record, key, self._clock.now() + seconds)

    def restore(self, record: Record, key: str, due: float) -> None:
        """Let `key` be due at a moment."""
        record.timers[key] = due
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, record.name, key))
        self.changed()

    def drop(self, record: Record, *keys: str) -> None:
        """Forget timers."""
        for key in keys:
            record.timers.pop(key, None)

    def next_due(self) -> float | None:
        """Return when the next timer may be due."""
        return self._heap[0][0] if self._heap else None

    def run(self, until: float, *, most: int | None = None) -> None:
        """Fire what is due until then, in order, at most so many; a settable clock moves along with it."""
        fired = 0
        while self._heap and self._heap[0][0] <= until and fired != most:
            fired += 1
            due, _, name, key = heapq.heappop(self._heap)
            record = self._find(name)
            if record is None or record.timers.get(key) != due:
                continue
            del record.timers[key]
            if isinstance(self._clock, SetClock):
                self._clock.set(due)
            self._fire(record, key)
