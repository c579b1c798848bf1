"""Times and durations in the format of Vertex AI."""

import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def format_time(moment: float) -> str:
    """Return a time as RFC 3339 in UTC with microseconds. All timestamps have the same length and sort as text."""
    return f"{EPOCH + timedelta(microseconds=round(moment * 1e6)):%Y-%m-%dT%H:%M:%S.%fZ}"


def format_second(moment: float) -> str:
    """Return a whole second as RFC 3339 in UTC, without a fraction."""
    return format_time(moment)[:19] + "Z"


def format_nanoseconds(moment: float) -> str:
    """Return a time as RFC 3339 in UTC with nine digits. The last three are made up, as a float has six."""
    text = format_time(moment)[:-1]
    return f"{text}{(int(text[-6:]) * 7 + 353) % 1000:03d}Z"


def parse_time(text: str) -> float:
    """Parse an RFC 3339 time (any offset, up to nine fractional digits). Raise ValueError if it is invalid."""
    trimmed = re.sub(r"(\.\d{6})\d+", r"\1", text.strip())
    trimmed = re.sub(r"([+-]\d{2})(\d{2})$", r"\1:\2", trimmed)
    read = datetime.fromisoformat(trimmed)
    if read.tzinfo is None:
        read = read.replace(tzinfo=UTC)
    return (read - EPOCH) / MICROSECOND / 1e6


def parse_duration(duration: str) -> float:
    """Parse a duration such as `"7200s"` or `"0.5s"`. Raise ValueError if it is invalid."""
    if not re.fullmatch(r"-?\d+(\.\d{1,9})?s", duration):
        raise ValueError(duration)
    return float(duration[:-1])
