"""Moments and durations as Vertex AI writes them, and the two clocks: the wall's and one that tests set."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    """Tells the time in seconds since 1970 (UTC)."""

    def now(self) -> float:
        """Return the present moment."""


class WallClock:
    """The computer's clock."""

    def now(self) -> float:
        """Return the present moment."""
        return time.time()


class SetClock:
    """A clock that stands still until someone moves it; never runs by itself, may not go back."""

    def __init__(self, start: float) -> None:
        self._now = start

    def now(self) -> float:
        """Return the moment it was last set to."""
        return self._now

    def set(self, moment: float) -> None:
        """Move to `moment`; an earlier one than now is ignored."""
        self._now = max(self._now, moment)


def stamp(moment: float) -> str:
    """Write a moment as RFC 3339 in UTC with microseconds: all stamps have one length and sort as text."""
    return f"{EPOCH + timedelta(microseconds=round(moment * 1e6)):%Y-%m-%dT%H:%M:%S.%fZ}"


def moment(text: str) -> float:
    """Read an RFC 3339 time (any offset, up to nine fractional digits); ValueError if it is none."""
    trimmed = re.sub(r"(\.\d{6})\d+", r"\1", text.strip())
    trimmed = re.sub(r"([+-]\d{2})(\d{2})$", r"\1:\2", trimmed)
    read = datetime.fromisoformat(trimmed)
    if read.tzinfo is None:
        read = read.replace(tzinfo=UTC)
    return (read - EPOCH) / MICROSECOND / 1e6


def seconds(duration: str) -> float:
    """Read a duration such as `"7200s"` or `"0.5s"`; ValueError if it is none."""
    if not re.fullmatch(r"-?\d+(\.\d{1,9})?s", duration):
        raise ValueError(duration)
    return float(duration[:-1])
