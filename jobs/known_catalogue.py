"""The machine and accelerator types that this site has recorded: read Compute Engine's lists, record, and use them.

The catalogue of a process is at most ten seconds older than the rows: `refresh` is called before a job is assessed.
"""

import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, Max

from jobs.cache import Recent
from jobs.catalog import ACCELERATORS, MACHINES, compute
from jobs.catalog.compute import ACCELERATOR, MACHINE, SOURCE, Change, Reading
from jobs.clock import display_now
from jobs.models import CatalogueEntry
from jobs.vertex import PlatformClient

COLLECTIONS = ("machineTypes", "acceleratorTypes")
_lock = threading.Lock()
_applied: Mapping[str, Any] = {"newest": None, "count": 0}
"""The newest row and the number of rows in the catalogue of this process: none at its start."""


def read_lists(client: PlatformClient, project: str) -> Reading:
    """Read both lists as a project sees them. Raise VertexError if a call fails."""
    reading = Reading()
    for collection in COLLECTIONS:
        for items in client.compute_types(project, collection):
            reading.add(collection, items)
    return reading


def record(changes: Iterable[Change], *, reason: str, now: datetime) -> int:
    """Record changes as new rows; return how many."""
    rows = [_row(each.kind, each.name, each.values, reason, now) for each in changes]
    return _add(rows)


def remove(names: Iterable[str], *, reason: str, now: datetime) -> int:
    """Remove recorded entries; the data files apply again. Return how many. Raise ValueError for an unknown name."""
    recorded = dict.fromkeys(MACHINES.recorded, MACHINE) | dict.fromkeys(ACCELERATORS.recorded, ACCELERATOR)
    wanted = list(dict.fromkeys(names))
    if missing := [name for name in wanted if name not in recorded]:
        raise ValueError(f"Not recorded on this site: {', '.join(missing)}.")
    return _add([_row(recorded[name], name, {}, reason, now) for name in wanted])


def _row(kind: str, name: str, values: dict[str, Any], reason: str, now: datetime) -> CatalogueEntry:
    return CatalogueEntry(
        kind=kind, name=name, values=values, source=SOURCE, as_of=now.date(), reason=reason[:200], recorded_at=now
    )


def _add(rows: list[CatalogueEntry]) -> int:
    count = len(CatalogueEntry.objects.bulk_create(rows))
    _recent.forget_changed()
    refresh()
    return count


def refresh() -> None:
    """Take the recorded entries into the catalogue of this process, at most ten seconds late."""
    _recent.get(None, display_now())


def forget() -> None:
    """Read the rows again at the next `refresh`, whatever this process knows."""
    global _applied
    _applied = {}
    _recent.forget()


def _load(_key: None, _now: datetime) -> None:
    global _applied
    state = CatalogueEntry.objects.aggregate(newest=Max("id"), count=Count("id"))
    with _lock:
        if state == _applied:
            return
        newest = {(each.kind, each.name): each for each in CatalogueEntry.objects.order_by("id")}
        rows = [each for each in newest.values() if each.values]
        accelerators = (each for each in rows if each.kind == ACCELERATOR)
        machines = (each for each in rows if each.kind == MACHINE)
        ACCELERATORS.record({e.name: compute.recorded_accelerator(e.name, e.values, e.as_of) for e in accelerators})
        MACHINES.record({e.name: compute.recorded_machine(e.name, e.values, e.as_of) for e in machines})
        _applied = state


_recent: Recent[None, None] = Recent(_load)
_recent.forget_when_saved(CatalogueEntry)
