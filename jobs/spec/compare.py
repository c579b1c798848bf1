"""Compare two jobs field by field: fields that were added, removed or changed.

A field is named by its path in the REST body, `jobSpec.workerPoolSpecs[0].replicaCount`. Environment variables,
metrics, parameters and labels are matched by name, not by position.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.spec.fields import Message
from jobs.spec.findings import quoted
from jobs.spec.paths import join
from jobs.spec.reading import rest_body

OWN_LABELS = ("labels[trainboard_job]", "labels[trainboard_instance]")
"""Labels that Trainboard adds to every job it submits; they differ between any two jobs."""
NAMED_BY = ("name", "parameterId", "metricId")
"""Fields that identify the entries of a list, if every entry has one and all are different."""
MAX_KEY_LENGTH = 80
"""Characters of a key that a path shows; labels have at most 63."""
Resource = Mapping[str, Any] | Message


class Change(StrEnum):
    """How a field differs between the first and the second job."""

    ADDED = "added"
    """Only the second has it."""
    REMOVED = "removed"
    """Only the first has it."""
    CHANGED = "changed"
    """Both have it, with different values."""
    SAME = "same"
    """Both are the same."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of two jobs. `before` and `after` are JSON; None means that the field is absent.

    A list of plain values, such as arguments, is one field. An explicit zero or an empty object is a value.
    """

    field: str
    change: Change
    before: Any = None
    after: Any = None


def compare(before: Resource, after: Resource, *, without: Iterable[str] = OWN_LABELS) -> list[Difference]:
    """Return the fields that differ between two jobs, in the order of the second; `without` as for `side_by_side`."""
    return [row for row in side_by_side(before, after, without=without) if row.change is not Change.SAME]


def side_by_side(before: Resource, after: Resource, *, without: Iterable[str] = OWN_LABELS) -> list[Difference]:
    """Return every field of two jobs in the order of the second; fields of the first only keep their position.

    Both are resources or their REST bodies in the API's names. Fields at or below a path in `without` are left out:
    `labels` leaves out every label. Null counts as absent, as in protobuf's JSON.
    """
    left_out = tuple(without)
    rows = _objects(_body(before), _body(after), "")
    return [row for row in rows if not any(_lies_at(row.field, path) for path in left_out)]


def _body(resource: Resource) -> Mapping[str, Any]:
    return rest_body(resource) if isinstance(resource, Message) else resource


def _lies_at(field: str, path: str) -> bool:
    return field.startswith(path) and (len(field) == len(path) or field[len(path)] in ".[")


def _values(before: Any, after: Any, path: str) -> Iterator[Difference]:
    """Yield the fields at and below `path`; None means that a side is absent."""
    sides = [side for side in (before, after) if side is not None]
    if sides and all(isinstance(side, Mapping) for side in sides) and any(sides):
        yield from _objects(before or {}, after or {}, path)
    elif all(_may_hold_objects(side) for side in sides) and any(sides):
        yield from _lists(before or (), after or (), path)
    elif sides:
        yield Difference(path, _change(before, after), before, after)


def _objects(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[Difference]:
    is_map = path.rpartition(".")[2] == "labels"
    for name in _merged(list(before), list(after)):
        here = f"{path}[{quoted(name, limit=MAX_KEY_LENGTH)[1:-1]}]" if is_map else join(path, name)
        yield from _values(before.get(name), after.get(name), here)


def _lists(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Difference]:
    """Match entries by name if all have one, else by position."""
    key = next((key for key in NAMED_BY if _name_all(key, before) and _name_all(key, after)), "")
    if not key:
        for index in range(max(len(before), len(after))):
            yield from _values(_at(before, index), _at(after, index), f"{path}[{index}]")
        return
    old, new = ({str(item[key]): item for item in side} for side in (before, after))
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield Difference(path, Change.CHANGED, list(old), list(new))  # the same entries in another order
    for name in _merged(list(old), list(new)):
        here = f"{path}[{quoted(name, limit=MAX_KEY_LENGTH)[1:-1]}]"
        rest = (
            {field: value for field, value in (side.get(name) or {}).items() if field != key} for side in (old, new)
        )
        was, now = (side if name in names else None for side, names in zip(rest, (old, new), strict=True))
        yield from _values(was, now, here)


def _change(before: Any, after: Any) -> Change:
    if before is None:
        return Change.ADDED
    if after is None:
        return Change.REMOVED
    return Change.SAME if alike(before, after) else Change.CHANGED


def alike(before: Any, after: Any) -> bool:
    """Return whether two JSON values are equal: true is not 1, and 1 is 1.0."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(alike(before[name], after[name]) for name in before)
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return len(before) == len(after) and all(map(alike, before, after))
    return bool(before == after)


def _merged(before: list[str], after: list[str]) -> list[str]:
    """Return the names of both lists in the order of `after`; names only in `before` keep their predecessor."""
    rest = set(before) - set(after)
    following: dict[str, list[str]] = {}
    anchor = ""
    for name in before:
        if name in rest:
            following.setdefault(anchor, []).append(name)
        else:
            anchor = name
    found = following.get("", [])
    return [*found, *(each for name in after for each in (name, *following.get(name, ())))]


def _may_hold_objects(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)


def _name_all(key: str, items: Sequence[Mapping[str, Any]]) -> bool:
    names = [item.get(key) for item in items]
    return all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)


def _at(items: Sequence[Any], index: int) -> Any:
    return items[index] if index < len(items) else None
