"""Values that look like placeholders. A person replaces them, or confirms that each is meant literally."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from jobs.spec import Submission
from jobs.strategies.rules.placeholders import unfilled

MAX_SHOWN = 50


class Literal(NamedTuple):
    """A value that looks like a placeholder: its whole text, the name of its check box, and whether that is checked."""

    text: str
    name: str
    is_confirmed: bool


def literals(submission: Submission, data: Mapping[str, Any]) -> list[Literal]:
    """Return the values of a job that must be confirmed, without duplicates, with the boxes checked in `data`."""
    texts = dict.fromkeys(each.text for each in unfilled(submission))
    named = ((text, tick_name(text)) for text in list(texts)[:MAX_SHOWN])
    return [Literal(text, name, bool(data.get(name))) for text, name in named]


def tick_name(text: str) -> str:
    """Return the name of a value's check box. It does not change when rows are added or removed."""
    return f"confirm-{sha256(text.encode()).hexdigest()[:16]}"
