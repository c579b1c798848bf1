"""Compute Engine's machineTypes and acceleratorTypes, aggregatedList: all types in one zone of each region.

Source: the discovery document of compute v1, read 2026-11-26.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256

from emulator.capacity.machines import MACHINES, REGIONS, Machine
from emulator.emulator import Emulator
from emulator.protocol import paging
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document

ROOT = "https://www.googleapis.com/compute/v1"
MAX_RESULTS = 500
MIB = 1024
QUERY = ("maxResults", "pageToken", "returnPartialSuccess")
Items = Callable[[str], Iterator[Document]]


def list_machines(emulator: Emulator, call: Call) -> Document:
    """Return a page of the machine types by zone. TPUs are left out."""
    del emulator
    return _page(call, "machineTypes", "machineType", _machine_types)


def list_accelerators(emulator: Emulator, call: Call) -> Document:
    """Return a page of the GPU types by zone."""
    del emulator
    return _page(call, "acceleratorTypes", "acceleratorType", _accelerator_types)


def _page(call: Call, collection: str, kind: str, items: Items) -> Document:
    call.check_arguments(*QUERY)
    project = call.params["project"]
    every = [(f"{region}-a", item) for region in sorted(REGIONS) for item in items(region)]
    position = paging.read_token(call.query.get("pageToken", ""), collection, project)
    start = int(str(position[0])) if position else 0
    end = start + paging.page_size(call.query.get("maxResults", ""), default=MAX_RESULTS, maximum=MAX_RESULTS)
    zones: dict[str, Document] = {}
    for zone, item in every[start:end]:
        name = f"projects/{project}/zones/{zone}/{collection}/{item['name']}"
        whole = {"kind": f"compute#{kind}", "id": _id(name), "selfLink": f"{ROOT}/{name}", "zone": zone, **item}
        zones.setdefault(f"zones/{zone}", {collection: []})[collection].append(whole)
    page: Document = {
        "kind": f"compute#{kind}AggregatedList",
        "id": f"projects/{project}/aggregated/{collection}",
        "items": zones,
        "selfLink": f"{ROOT}/projects/{project}/aggregated/{collection}",
    }
    if end < len(every):
        page["nextPageToken"] = paging.make_token([end], collection, project)
    return page


def _machine_types(region: str) -> Iterator[Document]:
    del region
    for name, machine in MACHINES.items():
        if machine.vcpus and machine.memory_gib:
            item: Document = {
                "name": name,
                "description": f"{machine.vcpus} vCPUs, {machine.memory_gib:g} GB RAM",
                "guestCpus": machine.vcpus,
                "memoryMb": round(machine.memory_gib * MIB),
                "isSharedCpu": False,
            }
            yield item | _accelerators(machine)


def _accelerators(machine: Machine) -> Document:
    """Return the GPUs that a machine always has; GPUs that can be attached are no part of its type."""
    fixed = [(kind, counts[0]) for kind, counts in machine.accelerator_counts.items() if len(counts) == 1]
    if len(machine.accelerator_counts) != 1 or not fixed:
        return {}
    ((kind, count),) = fixed
    return {"accelerators": [{"guestAcceleratorType": _compute_name(kind), "guestAcceleratorCount": count}]}


def _accelerator_types(region: str) -> Iterator[Document]:
    del region
    kinds = dict.fromkeys(kind for machine in MACHINES.values() for kind in machine.accelerator_counts)
    for kind in kinds:
        if kind.startswith("NVIDIA_"):
            label = kind.removeprefix("NVIDIA_").replace("_", " ")
            yield {"name": _compute_name(kind), "description": f"NVIDIA {label}", "maximumCardsPerInstance": 8}


def _compute_name(kind: str) -> str:
    return kind.lower().replace("_", "-")


def _id(name: str) -> str:
    return str(int(sha256(name.encode()).hexdigest()[:15], 16))
