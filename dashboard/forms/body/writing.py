"""Fields become parts of the REST body; a field that is empty or could not be read is left out of it."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from dashboard.forms.body import paths
from dashboard.forms.body.entries import Entry, Table
from dashboard.forms.body.tables import POOL
from jobs.catalog import machine

RESERVATION_KEY = "compute.googleapis.com/reservation-name"
"""The key of a SPECIFIC_RESERVATION (REST reference, ReservationAffinity, read 2026-11-21)."""
SPECIFIC = "SPECIFIC_RESERVATION"
AFFINITY = "machineSpec.reservationAffinity"


def written(table: Table, said: Mapping[str, Any], carried: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the part that the values `said` make, over what is carried along."""
    body: dict[str, Any] = deepcopy(dict(carried or {}))
    _write(table.entries, said, body)
    for variant in table.variants:
        branch = variant.branches.get(said.get(variant.field) or "")
        if branch is not None:
            if paths.get(body, branch.marker) is paths.MISSING:
                paths.put(body, branch.marker, {})
            _write(branch.entries, said, body)
    return body


def worker_pool(said: Mapping[str, Any], carried: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a WorkerPoolSpec; a machine that always has the same GPUs names them, as Vertex AI asks for."""
    pool = written(POOL, said, carried)
    spec = pool.get("machineSpec", {})
    known = machine(spec.get("machineType", ""))
    own = known is not None and known.gpu_attach == "fixed" and known.gpu_type
    if known is not None and own and not spec.get("acceleratorType") and not spec.get("acceleratorCount"):
        spec |= {"acceleratorType": known.gpu_type, "acceleratorCount": known.gpu_count}
    affinity = spec.get("reservationAffinity", {})
    if affinity.get("reservationAffinityType") == SPECIFIC:
        affinity.setdefault("key", RESERVATION_KEY)
    return pool


def reserve(pools: list[dict[str, Any]], name: str) -> None:
    """Take the machines of each pool that says nothing about it from the reservation `name`."""
    affinity = {"reservationAffinityType": SPECIFIC, "key": RESERVATION_KEY, "values": [name]}
    for pool in pools:
        if pool and paths.get(pool, AFFINITY) is paths.MISSING:
            paths.put(pool, AFFINITY, deepcopy(affinity))


def _write(entries: Mapping[str, Entry], said: Mapping[str, Any], body: dict[str, Any]) -> None:
    for name, entry in entries.items():
        value = said.get(name)
        if value in (None, "", [], {}):
            continue
        made = entry.write(value)
        if made is not None:
            paths.put(body, entry.path, made)
