"""Compare a job that was sent with the one that Vertex AI has, which fills in defaults and renames projects."""

import re
from collections.abc import Mapping
from typing import Any

from jobs.spec.compare import OWN_LABELS, Change, Difference, alike, compare
from jobs.spec.reading import KINDS, read, rest_body
from jobs.spec.shape import fields
from jobs.spec.submission import RUN_FOLDER

FILLED_IN: dict[str, tuple[object, ...]] = {
    "replicaCount": (1, "1"),
    "bootDiskType": ("pd-ssd", "hyperdisk-balanced"),
    "bootDiskSizeGb": (100,),
    "strategy": ("STANDARD",),
}
"""Defaults that Vertex AI returns although they were not sent (disks and counts recorded in July 2026)."""
PROJECT = re.compile(r"^projects/[^/]+/")


def find_differences(
    kind: str, sent: Mapping[str, Any], found: Mapping[str, Any], *, with_run_folder: bool = False
) -> list[Difference]:
    """Return the fields in which the job `found` at Vertex AI differs from the body `sent`.

    Left out are output fields, our labels, defaults that Vertex AI fills in, absent zeros, the number of a project in
    place of its id and, unless `with_run_folder`, the folder of a run. Return [] if `found` lacks the fields that
    describe the work, as in a list of chosen fields, or if one side cannot be read.
    """
    if not any(name in found for name in sent.keys() - {"displayName", "labels"}):
        return []
    output = [slot.alias for slot in fields(KINDS[kind]) if slot.output]
    sides = [read(kind, body)[0] for body in (sent, found)]
    if None in sides:
        return []
    rows = compare(*map(rest_body, sides), without=(*OWN_LABELS, *output))
    return [row for row in rows if not _is_same(row, with_run_folder=with_run_folder)]


def _is_same(row: Difference, *, with_run_folder: bool) -> bool:
    if row.change is Change.CHANGED:
        before, after = (_plain(value, with_run_folder=with_run_folder) for value in (row.before, row.after))
        return alike(before, after)
    value = row.after if row.change is Change.ADDED else row.before
    is_zero = not value or (isinstance(value, str) and value.endswith("_UNSPECIFIED"))
    return is_zero or value in FILLED_IN.get(row.field.rpartition(".")[2], ())


def _plain(value: Any, *, with_run_folder: bool) -> Any:
    if not isinstance(value, str):
        return value
    text = PROJECT.sub("projects/-/", value.rstrip("/"))
    return text if with_run_folder else RUN_FOLDER.sub("", f"{text}/")
