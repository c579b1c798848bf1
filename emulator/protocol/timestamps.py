"""Moments and durations as Vertex AI writes them."""

import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def format_time(moment: float) -> str:
    """Write a moment as RFC 3339 in UTC with microseconds: all stamps have one length and sort as text."""
    return f"{EPOCH + timedelta(microseconds=round(moment * 1e6)):%Y-%m-%dT%H:%M:%S.%fZ}"


def parse_time(text: str) -> float:
    """Read an RFC 3339 time (any offset, up to nine fractional digits); ValueError if it is none."""
    trimmed = re.sub(r"(\.\d{6})\d+", r"\1", text.strip())
    trimmed = re.sub(r"([+-]\d{2})(\d{2})$", r"\1:\2", trimmed)
    read = datetime.fromisoformat(trimmed)
    if read.tzinfo is None:
        read = read.replace(tzinfo=UTC)
    return (read - EPOCH) / MICROSECOND / 1e6


def parse_duration(duration: str) -> float:
    """Read a duration such as `"7200s"` or `"0.5s"`; ValueError if it is none."""
    if not re.fullmatch(r"-?\d+(\.\d{1,9})?s", duration):
        raise ValueError(duration)
    return float(duration[:-1])
