"""Differences of two specs as people read them: values in one line, the words that changed marked. Pure."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from json import dumps
from typing import Any

from jobs.spec.compare import Change, Difference

LONGEST_TEXT = 2_000
"""Characters of a value that are shown."""
MOST_WORDS = 300
"""Values of more words are shown without marks: matching takes the square of their number."""
WORD = re.compile(r"\s+|[^\s=,/:]+|[=,/:]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a value's text, and whether the other value lacks it."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """One field as a row: what became of it and its two values in pieces; an absent side has none."""

    field: str
    change: Change
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()


def shown(row: Difference) -> Shown:
    """Return a difference ready to be drawn."""
    if row.change is not Change.CHANGED:
        return Shown(row.field, row.change, _plain(row.before), _plain(row.after))
    before, after = text_of(row.before), text_of(row.after)
    return Shown(row.field, row.change, *_marked(before, after))


def text_of(value: Any) -> str:
    """Return a JSON value as text: arguments as a shell would take them, emptiness said."""
    if isinstance(value, str):
        return value or "“”"
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return " ".join(shlex.quote(item) for item in value)
    return dumps(value, ensure_ascii=False)


def _plain(value: Any) -> tuple[Piece, ...]:
    return () if value is None else (Piece(_short(text_of(value))),)


def _marked(before: str, after: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return both texts with the words marked that the other lacks; wholly, where they have little in common."""
    old, new = WORD.findall(_short(before)), WORD.findall(_short(after))
    if len(old) > MOST_WORDS or len(new) > MOST_WORDS:
        return (Piece(_short(before)),), (Piece(_short(after)),)
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(_pieces(old, [(tag, i, j) for tag, i, j, _, _ in steps])), tuple(
        _pieces(new, [(tag, i, j) for tag, _, _, i, j in steps])
    )


def _pieces(words: list[str], steps: list[tuple[str, int, int]]) -> Iterator[Piece]:
    for tag, start, end in steps:
        if text := "".join(words[start:end]):
            yield Piece(text, tag != "equal")


def _short(text: str) -> str:
    left_out = len(text) - LONGEST_TEXT
    return text if left_out <= 0 else f"{text[:LONGEST_TEXT]}… ({left_out:,} more characters)"
