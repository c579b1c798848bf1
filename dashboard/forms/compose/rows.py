"""Rows that are added and removed: worker pools and parameters. Pure, on what was posted."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

MOST_READ = {"pool": 8, "parameter": 40}
"""Rows that are read of a request; a spec may be wrong and have more than Vertex AI takes."""
MOST_ADDED = {"pool": 4, "parameter": 40}
MARKS = {"pool": "machine_type", "parameter": "parameter_id"}
"""The field by which a row is known to be there."""
NOT_COPIED = ("carried", "drop_carried", "skip", "fits")
REMOVE = re.compile(r"remove_(pool|parameter)-(\d{1,3})")


def count(names: Iterable[str], kind: str) -> int:
    """Return how many rows of a kind there are, counted up to the first that is missing."""
    there, found = set(names), 0
    while found < MOST_READ[kind] and f"{kind}-{found}-{MARKS[kind]}" in there:
        found += 1
    return found


def changed(data: Mapping[str, Any], do: str) -> tuple[dict[str, Any], str]:
    """Return what was posted after the button `do`, and the prefix of the row to go on with ("" for none).

    `add_pool`, `add_parameter`, `remove_pool-1`, `remove_parameter-0`; a button that is none of these changes nothing.
    """
    said = dict(data.items())
    if do in ("add_pool", "add_parameter"):
        return _added(said, do.removeprefix("add_"))
    if found := REMOVE.fullmatch(do):
        return _removed(said, found[1], int(found[2]))
    return said, ""


def _added(said: dict[str, Any], kind: str) -> tuple[dict[str, Any], str]:
    """A pool begins as a copy of the last one, for most differ only in machines; a parameter begins empty."""
    at = count(said, kind)
    if at >= MOST_ADDED[kind]:
        return said, ""
    row: dict[str, Any] = {MARKS[kind]: ""}
    if kind == "pool" and at:
        last = f"pool-{at - 1}-"
        row = {name.removeprefix(last): value for name, value in said.items() if name.startswith(last)}
        row = {name: value for name, value in row.items() if name not in NOT_COPIED} | {"replicas": "1"}
    elif kind == "parameter":
        row |= {"kind": "double"}
    return said | {f"{kind}-{at}-{name}": value for name, value in row.items()}, f"{kind}-{at}"


def _removed(said: dict[str, Any], kind: str, at: int) -> tuple[dict[str, Any], str]:
    """Take one row out and number those after it anew; the primary pool stays."""
    if at >= count(said, kind) or (kind == "pool" and at == 0):
        return said, ""
    kept: dict[str, Any] = {}
    for name, value in said.items():
        prefix, dash, rest = name.partition("-")
        number, second, field = rest.partition("-")
        if prefix != kind or not dash or not second or not number.isdigit() or len(number) > 3:
            kept[name] = value
        elif int(number) != at:
            kept[f"{kind}-{int(number) - (int(number) > at)}-{field}"] = value
    return kept, ""
