"""A clock that moves only when a test says so."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class Clock:
    """`clock.now` is an aware moment; `clock.forward(minutes=5)` moves it and returns it."""

    now: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def forward(self, **span: float) -> datetime:
        """Move by a span given as for `timedelta`."""
        self.now += timedelta(**span)
        return self.now
