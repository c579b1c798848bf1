"""The messages of Vertex AI training as data: fields, types, enum numbers, and output-only fields.

The tables in data/messages.json come from the generated types and the discovery document that Google publishes
(tests/sdk/vocabulary.py builds them, a test compares). Types: scalar names, `Duration`, `Timestamp`, `Value`, `Struct`,
wrapper names, `enum NAME`, message names, each optionally behind `list ` or `map `. `beta` marks what only v1beta1 has.
"""

import copy
import functools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).parents[1] / "data"
TABLES = json.loads((DATA / "messages.json").read_text())
ENUMS: dict[str, dict[str, int]] = TABLES["enums"]
ENUM_NAMES = {enum: {number: name for name, number in values.items()} for enum, values in ENUMS.items()}


def copy_tables() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return copies of the tables of messages and enums, for `set_tables`."""
    return copy.deepcopy(TABLES["messages"]), copy.deepcopy(ENUMS)


def set_tables(messages: dict[str, Any], enums: dict[str, dict[str, int]]) -> None:
    """Replace the tables."""
    for known, now in ((TABLES["messages"], messages), (ENUMS, enums)):
        known.clear()
        known.update(now)
    ENUM_NAMES.clear()
    ENUM_NAMES.update({enum: {number: name for name, number in values.items()} for enum, values in ENUMS.items()})
    fields.cache_clear()
    names.cache_clear()


def extend_tables(messages: dict[str, Any], enums: dict[str, Any]) -> None:
    """Add fields to messages, new ones or known ones, and values to enums. Raise ValueError if a type is not known."""
    all_messages, all_enums = copy_tables()
    for name, of_message in messages.items():
        all_messages.setdefault(name, {}).update({field: str(text) for field, text in of_message.items()})
    for name, values in enums.items():
        all_enums.setdefault(name, {}).update({value: int(number) for value, number in values.items()})
    set_tables(all_messages, all_enums)
    for message in messages:
        for field in fields(message).values():
            if field.kind == "enum" and field.of not in ENUMS:
                raise ValueError(f"{message}.{field.name} is of an unknown enum, {field.of}")


class Field(NamedTuple):
    """One field of a message."""

    name: str
    shape: str  # "one", "list" or "map"
    kind: str  # "message", "enum" or "scalar"
    of: str
    is_output: bool
    oneof: str
    is_beta: bool = False

    @property
    def snake(self) -> str:
        """The proto name, as in error texts."""
        return snake(self.name)


@functools.cache
def snake(name: str) -> str:
    """Return lowerCamelCase as snake_case."""
    return re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)


@functools.lru_cache(maxsize=4096)
def camel(name: str) -> str:
    """Return snake_case as lowerCamelCase."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def _field(name: str, text: str) -> Field:
    kind, *flags = text.split(", ")
    shape, kind = (kind.split(" ", 1)) if kind.startswith(("list ", "map ")) else ("one", kind)
    oneof = next((flag.removeprefix("oneof ") for flag in flags if flag.startswith("oneof ")), "")
    marks = "output" in flags, oneof, "beta" in flags
    if kind.startswith("enum "):
        return Field(name, shape, "enum", kind.removeprefix("enum "), *marks)
    return Field(name, shape, "message" if kind in TABLES["messages"] else "scalar", kind, *marks)


@functools.cache
def fields(message: str) -> dict[str, Field]:
    """Return `{jsonName: Field}` of a message."""
    return {name: _field(name, text) for name, text in TABLES["messages"][message].items()}


@functools.cache
def names(message: str) -> dict[str, str]:
    """Return every accepted spelling of a message's fields: `{camel or snake: camel}`."""
    known = fields(message)
    return {snake(name): name for name in known} | {name: name for name in known}
