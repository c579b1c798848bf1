"""One line of the table: where in the body a field's value stands, and how it is written there and read back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jobs.spec.fields import parse_duration, write_duration


def same(value: Any) -> Any:
    """Return the value as it is."""
    return value


@dataclass(frozen=True, slots=True)
class Entry:
    """A path in the body; `write` makes JSON of a field's value, `read` a field's value of JSON."""

    path: str
    write: Callable[[Any], Any] = same
    read: Callable[[Any], Any] = same


@dataclass(frozen=True, slots=True)
class Branch:
    """What one choice writes: the object `marker`, which stands there even when it is empty, and its entries."""

    marker: str
    entries: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class Variant:
    """A field whose choice decides which of several objects is written: {choice: Branch}."""

    field: str
    branches: Mapping[str, Branch]


@dataclass(frozen=True, slots=True)
class Table:
    """A part of the body: {field: Entry}, what a choice decides, and {path: field} for paths above the entries'."""

    entries: Mapping[str, Entry]
    variants: tuple[Variant, ...] = ()
    above: Mapping[str, str] = field(default_factory=dict)

    def places(self) -> dict[str, str]:
        """Return {path: field} of everything that stands in the table."""
        found = {entry.path: name for name, entry in self.entries.items()}
        for variant in self.variants:
            for branch in variant.branches.values():
                found[branch.marker] = variant.field
                found |= {entry.path: name for name, entry in branch.entries.items()}
        return found | dict(self.above)


def whole(path: str) -> Entry:
    """Return the entry of a 64-bit number, which JSON carries as text."""
    return Entry(path, str, int)


def flag(path: str) -> Entry:
    """Return the entry of a check box; one that is not ticked is left out."""
    return Entry(path, lambda value: True if value else None)


def length(path: str) -> Entry:
    """Return the entry of a length of time, which JSON carries as seconds with an s."""
    return Entry(path, _duration, parse_duration)


def pairs(path: str) -> Entry:
    """Return the entry of an object of names and values."""
    return Entry(path, dict, lambda value: list(value.items()))


def env(path: str) -> Entry:
    """Return the entry of a list of {name, value}."""
    return Entry(
        path,
        lambda value: [{"name": name, "value": text} for name, text in value],
        lambda value: [(each.get("name", ""), each.get("value", "")) for each in value],
    )


def ends(path: str, kind: type) -> Entry:
    """Return the entry of an end of a parameter's range: of `int`, JSON carries it as text."""
    return Entry(path, lambda value: str(value) if kind is int else value, kind if kind is int else same)


def _duration(value: timedelta) -> str:
    return write_duration(value)
