"""The fields of each message and their kinds as data, and suggestions for misspelt names."""

import difflib
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from jobs.spec.fields import Kind, Message, Output
from jobs.spec.paths import join

MAX_NAME_LENGTH = 64
MESSAGE = Kind("message", lambda value: value)


@dataclass(frozen=True)
class Slot:
    """One field of a message: its JSON name, its kind, its message type, and whether it is a list or a map."""

    name: str
    alias: str
    kind: Kind
    model: type[Message] | None = None
    many: bool = False
    mapping: bool = False
    output: bool = False


@cache
def slots(model: type[Message]) -> dict[str, Slot]:
    """Return the fields of a message by their JSON names and their Python names."""
    hints = typing.get_type_hints(model, include_extras=True)
    found: dict[str, Slot] = {}
    for name, info in model.model_fields.items():
        slot = _slot(name, str(info.alias or name), hints[name])
        found[slot.alias] = found[slot.name] = slot
    return found


@cache
def fields(model: type[Message]) -> tuple[Slot, ...]:
    """Return the fields of a message once each, in order."""
    return tuple(dict.fromkeys(slots(model).values()))


def message_names(roots: Iterable[type[Message]]) -> frozenset[str]:
    """Return the names of these messages and of all messages within them."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        model = waiting.pop()
        if model.__name__ not in found:
            found.add(model.__name__)
            waiting.extend(slot.model for slot in fields(model) if slot.model is not None)
    return frozenset(found)


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return the choice that a misspelt word most likely means, or ""."""
    if len(word) > MAX_NAME_LENGTH:
        return ""
    plain = {_plain(choice): choice for choice in choices}
    if _plain(word) in plain:
        return plain[_plain(word)]
    near = difflib.get_close_matches(_plain(word), plain, n=1, cutoff=0.72)
    return plain[near[0]] if near else ""


def nearest_enum(word: str, names: Iterable[str]) -> str:
    """Return the enum name that a word most likely means: `NVIDIA_T4` means NVIDIA_TESLA_T4."""
    names = [name for name in names if "UNSPECIFIED" not in name]
    parts = {part for part in _plain_words(word) if part not in NOISE}
    matching = [name for name in names if parts and parts <= set(_plain_words(name))]
    return matching[0] if matching else nearest(word, names)


NOISE = frozenset({"NVIDIA", "TESLA", "GPU", "GOAL", "TYPE", "UNIT"})


def find_parents(name: str, root: type[Message]) -> tuple[str, ...]:
    """Return the paths below `root` of fields with this name, with lists as [], the shortest first."""
    return _parents_of(root).get(_plain(name), ()) if len(name) <= MAX_NAME_LENGTH else ()


@cache
def _parents_of(root: type[Message]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    waiting: list[tuple[type[Message], str, tuple[type[Message], ...]]] = [(root, "", ())]
    while waiting:
        model, path, above = waiting.pop(0)
        for slot in fields(model):
            if slot.output:
                continue
            here = join(path, slot.alias)
            found.setdefault(_plain(slot.alias), []).append(here)
            if slot.model is not None and slot.model not in above:
                waiting.append((slot.model, here + ("[]" if slot.many else ""), (*above, slot.model)))
    return {name: tuple(paths) for name, paths in found.items()}


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


def _plain_words(name: str) -> list[str]:
    return [part for part in name.upper().replace("-", "_").replace(" ", "_").split("_") if part]


def _slot(name: str, alias: str, hint: Any) -> Slot:
    """Parse one annotation: Annotated may wrap any level, and `| None` means optional."""
    marks: list[Any] = []
    many = mapping = False
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            marks.extend(typing.get_args(hint)[1:])
            hint = typing.get_args(hint)[0]
        elif origin is tuple:
            many, hint = True, typing.get_args(hint)[0]
        elif origin is dict and not _kinds(marks):
            mapping, hint = True, typing.get_args(hint)[1]
        elif origin in (types.UnionType, typing.Union) and not _kinds(marks):
            hint = next(part for part in typing.get_args(hint) if part is not type(None))
        else:
            break
    model = hint if isinstance(hint, type) and issubclass(hint, Message) else None
    kind = next(iter(_kinds(marks)), MESSAGE)
    output = any(isinstance(mark, Output) for mark in marks)
    return Slot(name, alias, kind, model, many, mapping, output)


def _kinds(marks: Iterable[Any]) -> list[Kind]:
    return [mark for mark in marks if isinstance(mark, Kind)]
