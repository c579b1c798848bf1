"""Differences of two specs for people: values on one line, with changed words marked. Pure."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from json import dumps
from typing import Any

from django.utils.translation import gettext_lazy

from jobs.spec.compare import Change, Difference

MAX_LENGTH = 2_000
"""Maximum characters shown of a value."""
MAX_WORDS = 300
"""Values with more words are shown without marks, because matching takes quadratic time."""
WORD = re.compile(r"\s+|[^\s=,/:]+|[=,/:]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a value's text, and whether it is missing from the other value."""

    text: str
    is_marked: bool = False


CHANGE_WORDS = {
    Change.ADDED: gettext_lazy("added"),
    Change.REMOVED: gettext_lazy("removed"),
    Change.CHANGED: gettext_lazy("changed"),
    Change.SAME: gettext_lazy("same"),
}


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field as a row: the kind of change and both values in pieces. A missing value has no pieces."""

    field: str
    change: Change
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()

    @property
    def change_word(self) -> str:
        """The kind of change, in the language of the page."""
        return str(CHANGE_WORDS[self.change])


def render_difference(row: Difference) -> FieldRow:
    """Return a difference as a row of the table."""
    if row.change is not Change.CHANGED:
        return FieldRow(row.field, row.change, render_value(row.before), render_value(row.after))
    before, after = format_value(row.before), format_value(row.after)
    return FieldRow(row.field, row.change, *_marked(before, after))


def format_value(value: Any) -> str:
    """Return a JSON value as text, with arguments quoted for a shell and an empty text as quotes."""
    if isinstance(value, str):
        return value or "“”"
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return " ".join(shlex.quote(item) for item in value)
    return dumps(value, ensure_ascii=False)


def render_value(value: Any) -> tuple[Piece, ...]:
    """Return a value of JSON as one piece without marks; no piece for None, which is a missing value."""
    return () if value is None else (Piece(_short(format_value(value))),)


def _marked(before: str, after: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return both texts, each with the words marked that the other lacks. Long texts are not marked."""
    old, new = WORD.findall(_short(before)), WORD.findall(_short(after))
    if len(old) > MAX_WORDS or len(new) > MAX_WORDS:
        return (Piece(_short(before)),), (Piece(_short(after)),)
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(_pieces(old, [(tag, i, j) for tag, i, j, _, _ in steps])), tuple(
        _pieces(new, [(tag, i, j) for tag, _, _, i, j in steps])
    )


def _pieces(tokens: list[str], steps: list[tuple[str, int, int]]) -> Iterator[Piece]:
    for tag, start, end in steps:
        if text := "".join(tokens[start:end]):
            yield Piece(text, tag != "equal")


def _short(text: str) -> str:
    left_out = len(text) - MAX_LENGTH
    return text if left_out <= 0 else f"{text[:MAX_LENGTH]}… ({left_out:,} more characters)"
