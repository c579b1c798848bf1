"""Invalid and extreme values, put into every place of a real document. None may stop the client."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from jobs.vertex import wire

Path = tuple[str | int, ...]


def deep(levels: int) -> Any:
    """Return nested lists."""
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


VALUES: tuple[Any, ...] = (
    None, "", "x" * 65, "y" * 129, "z" * 300, "w" * 300_000, "\x00", "a\x00b", "\ud800", "\U0001f600" * 200,
    "\r\n\t\x1b[0m", 0, -1, 7, 2**31, 2**63, 2**64, -(2**70), 10**60, 1e308, -1e308, 0.1, True, "9" * 19, "-1", "1e999",
    "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59Z", "2199-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-14:00", "10000-01-01T00:00:00Z", "2026-03-02T09:00:00Z",
    [], {}, [None], {"": None}, {"\x00\udfff": "\x00"}, deep(150), deep(400), ["x" * 1000] * 3000,
    {"message": "m" * 400_000},
)  # fmt: skip
"""Values of every JSON type, at and beyond the limits of columns, clocks and time zones."""


def paths(document: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the path of every value in a document, including containers but not the document itself."""
    items: Any = ()
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    for key, value in items:
        yield (*at, key)
        yield from paths(value, (*at, key))


def changed(document: Any, changes: dict[Path, Any]) -> Any:
    """Return the document as the client decodes it, with some values replaced."""
    made = copy.deepcopy(document)
    for path, value in changes.items():
        place = made
        try:
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = copy.deepcopy(value)  # a copy, because another change may modify it
        except (TypeError, KeyError, IndexError):  # another change replaced a parent
            continue
    return wire.decode(json.dumps(made).encode())


def documents(document: Any, *, keep: tuple[Path, ...] = ()) -> st.SearchStrategy[Any]:
    """Draw versions of a document with one to six values replaced, except those at `keep`."""
    places = [path for path in paths(document) if path not in keep]
    return st.dictionaries(st.sampled_from(places), st.sampled_from(VALUES), min_size=1, max_size=6).map(
        lambda changes: changed(document, changes)
    )


def each(document: Any, *, keep: tuple[Path, ...] = ()) -> Iterator[Any]:
    """Yield, for every value, the document with that value in all of its fields at once.

    Text and numbers replace the innermost values, lists and objects the outermost.
    """
    places = [path for path in paths(document) if path not in keep]
    tops = [path for path in places if len(path) == 1]
    leaves = [path for path in places if not any(other[:-1] == path for other in places)]
    for value in VALUES:
        yield changed(document, dict.fromkeys(tops if isinstance(value, list | dict) else leaves, value))
