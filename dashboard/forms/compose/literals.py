"""Values that a person replaces or confirms: those that look like placeholders, and those that are not known here."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from jobs.spec import Submission
from jobs.strategies.checks import confirmable
from jobs.strategies.rules.placeholders import unfilled

MAX_SHOWN = 50


class Literal(NamedTuple):
    """A value to confirm: the text that identifies it, the name of its check box, and whether that is checked.

    `message` and `remedy` describe what Trainboard does not know. They are empty for what looks like a placeholder.
    """

    text: str
    name: str
    is_confirmed: bool
    message: str = ""
    remedy: str = ""


def literals(submission: Submission, data: Mapping[str, Any]) -> list[Literal]:
    """Return the values of a job that must be confirmed, without duplicates, with the boxes checked in `data`."""
    texts = dict.fromkeys(each.text for each in unfilled(submission))
    named = ((text, tick_name(text)) for text in list(texts)[:MAX_SHOWN])
    return [Literal(text, name, bool(data.get(name))) for text, name in named]


def unknown_parts(submission: Submission, data: Mapping[str, Any]) -> list[Literal]:
    """Return what Trainboard does not know in a job and a person must confirm, with the boxes checked in `data`."""
    named = ((each, tick_name(each.confirm)) for each in confirmable(submission)[:MAX_SHOWN])
    return [Literal(each.confirm, name, bool(data.get(name)), each.message, each.remedy) for each, name in named]


def tick_name(text: str) -> str:
    """Return the name of a value's check box. It does not change when rows are added or removed."""
    return f"confirm-{sha256(text.encode()).hexdigest()[:16]}"
