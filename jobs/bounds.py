"""Clean text and JSON from outside and limit their size, so that a database column can hold them. Pure.

PostgreSQL refuses NUL characters and lone surrogates in text and JSON, and text longer than its column. SQLite accepts
them, so a fault shows on one database only. SQLite accepts JSON of up to about a thousand levels.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

CUT = "…"
"""Marks the end of a text that was cut."""
MAX_TEXT_CHARACTERS = 262_144
"""Limit for a column without a length. An entry of Cloud Logging has at most 256 KiB."""
MAX_JSON_CHARACTERS = 2_000_000
"""Limit for all texts and numbers in one JSON value together. A job as Vertex AI returns it has a few thousand."""
MAX_JSON_DEPTH = 200
MAX_INTEGER_BITS = 4_096
"""Limit for an integer in JSON. Python refuses to parse one of more than 4,300 digits."""
MIN_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
MAX_MOMENT = datetime(2200, 1, 1, tzinfo=UTC)
"""A time outside these bounds is not a time of a job. Year 1 cannot be shown in every time zone, and a sum with year
9999 overflows."""
MAX_CLOCK_SKEW = timedelta(minutes=10)
"""How far Vertex AI's clock may be ahead of the database's. A later time is ignored: as the time of a state it would
come after events that follow it, and as `updateTime` it would make later answers look old."""
MAX_DIGITS = 18
"""Default limit for a whole number written as text. Every number of 18 digits fits a column of 64 bits."""
SMALL_TEXT, SMALL_COUNT, SMALL_DEPTH = 1_000, 50, 8
"""Limits to which a JSON value that is too large is cut: characters of a text, items of a list or object, levels."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_DIGEST_CHARACTERS = 12


def is_storable(text: str) -> bool:
    """Return whether both databases store the text unchanged."""
    return _UNSTORABLE.search(text) is None


def is_storable_json(value: Any) -> bool:
    """Return whether both databases store every text in a JSON value unchanged, names included."""
    if isinstance(value, str):
        return is_storable(value)
    if isinstance(value, dict):
        return all(is_storable(name) and is_storable_json(item) for name, item in value.items())
    return not isinstance(value, list) or all(map(is_storable_json, value))


def clean(text: str) -> str:
    """Return the text with NUL characters and lone surrogates replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def bounded(text: str, limit: int) -> str:
    """Return the clean text cut to `limit` characters; a text that was cut ends with an ellipsis."""
    whole = clean(text)
    return whole if len(whole) <= limit else whole[: limit - 1] + CUT


def bounded_key(text: str, limit: int) -> str:
    """Return an identifier cut to `limit` characters; a digest at its end keeps different identifiers different."""
    whole = clean(text)
    if len(whole) <= limit:
        return whole
    digest = sha256(whole.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{whole[: limit - _DIGEST_CHARACTERS - 1]}{CUT}{digest}"


def parse_digits(text: str, max_digits: int = MAX_DIGITS) -> int | None:
    """Return the number in a text of one to `max_digits` ASCII digits, or None for any other text.

    `str.isdecimal` also accepts digits outside ASCII, and int() raises ValueError for more than 4,300 digits.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= max_digits else None


def digest_of(text: str) -> str:
    """Return the SHA-256 digest in hexadecimal, to store in place of a secret or a key."""
    return sha256(text.encode(errors="replace")).hexdigest()


def is_moment(value: datetime) -> bool:
    """Return whether an aware datetime lies within the bounds for times of a job."""
    return MIN_MOMENT <= value < MAX_MOMENT


def utc_moment(value: datetime) -> datetime | None:
    """Return a datetime in UTC; None if it has no time zone or lies outside the bounds for times of a job.

    PostgreSQL refuses offsets of sixteen hours or more, which ISO 8601 allows; UTC avoids them.
    """
    try:
        found = value.astimezone(UTC) if value.tzinfo is not None else None
    except OverflowError:
        return None
    return found if found is not None and is_moment(found) else None


def past_moment(value: datetime | None, now: datetime) -> datetime | None:
    """Return a time from outside, or None if it lies more than MAX_CLOCK_SKEW after `now`."""
    return value if value is not None and value <= now + MAX_CLOCK_SKEW else None


def bounded_json(value: Any) -> Any:
    """Return JSON that both databases store; a value that is too large is cut to its first items."""
    found, size = _storable(value, MAX_JSON_DEPTH)
    if size <= MAX_JSON_CHARACTERS:
        return found
    small, size = _storable(_small(found, SMALL_DEPTH), SMALL_DEPTH + 1)
    return small if size <= MAX_JSON_CHARACTERS else {}


def _storable(value: Any, levels: int) -> tuple[Any, int]:
    """Return the value without what a database cannot store, and its approximate number of characters."""
    if isinstance(value, str):
        text = clean(value)
        return (value if text == value else text), len(text)
    if value is None or isinstance(value, bool):
        return value, 4
    if isinstance(value, int):
        return (value, value.bit_length() // 3) if value.bit_length() <= MAX_INTEGER_BITS else (None, 4)
    if isinstance(value, float):
        return (value, 20) if math.isfinite(value) else (None, 4)
    if levels <= 0:
        return CUT, 1
    if isinstance(value, dict):
        pairs = [(clean(str(name)), *_storable(item, levels - 1)) for name, item in value.items()]
        return {name: item for name, item, _ in pairs}, sum(len(name) + size + 4 for name, _, size in pairs)
    if isinstance(value, list | tuple):
        items = [_storable(item, levels - 1) for item in value]
        return [item for item, _ in items], sum(size + 2 for _, size in items)
    return _storable(str(value), levels)


def _small(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return bounded(value, SMALL_TEXT)
    if isinstance(value, dict | list) and not levels:
        return CUT
    if isinstance(value, dict):
        kept = list(value.items())[:SMALL_COUNT]
        return {bounded_key(name, SMALL_TEXT): _small(item, levels - 1) for name, item in kept}
    if isinstance(value, list):
        return [_small(item, levels - 1) for item in value[:SMALL_COUNT]]
    return value
