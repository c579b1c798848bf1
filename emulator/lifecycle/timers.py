"""Timers of records. They are stored in the record (`timers`) and ordered in one heap."""

import heapq
from collections.abc import Callable

from emulator.lifecycle.clock import Clock, SetClock, SkippingClock
from emulator.state.records import Record

SKIPPED = frozenset({"queued", "admit", "pending", "launch", "settle", "begin", "publish"})
"""Timers for whose time a `SkippingClock` does not wait: steps of up to two seconds that no speed shortens."""


class Timers:
    """Calls `fire(record, key)` when a timer is due. Changed and cancelled timers leave stale heap entries."""

    def __init__(self, clock: Clock, find: Callable[[str], Record | None], fire: Callable[[Record, str], None]) -> None:
        self._clock = clock
        self._find = find
        self._fire = fire
        self._heap: list[tuple[float, int, str, str]] = []
        self._count = 0
        self.changed: Callable[[], None] = lambda: None
        """Called when a timer was set, so that `next_due` may have changed."""

    def set(self, record: Record, key: str, seconds: float) -> None:
        """Make `key` due in `seconds`, replacing an earlier time."""
        self.set_at(record, key, self._clock.now() + seconds)

    def restore(self, record: Record) -> None:
        """Restore the timers of a record that was read from disk."""
        for key, due in list(record.timers.items()):
            self.set_at(record, key, due)

    def set_at(self, record: Record, key: str, due: float) -> None:
        """Make `key` due at a time."""
        record.timers[key] = due
        if key in SKIPPED and isinstance(self._clock, SkippingClock):
            self._clock.skip_to(due)
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, record.name, key))
        self.changed()

    def cancel(self, record: Record, *keys: str) -> None:
        """Cancel timers."""
        for key in keys:
            record.timers.pop(key, None)

    def next_due(self) -> float | None:
        """Return when the next timer may be due."""
        return self._heap[0][0] if self._heap else None

    def run(self, until: float, *, limit: int | None = None) -> None:
        """Fire the timers due by a time, in order, at most `limit`. A settable clock moves with them."""
        fired = 0
        while self._heap and self._heap[0][0] <= until and fired != limit:
            fired += 1
            due, _, name, key = heapq.heappop(self._heap)
            record = self._find(name)
            if record is None or record.timers.get(key) != due:
                continue
            del record.timers[key]
            if isinstance(self._clock, SetClock):
                self._clock.set(due)
            self._fire(record, key)
