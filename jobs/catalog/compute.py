"""Read Compute Engine's lists of machine and accelerator types, and compare them with the catalogue. Pure.

Compute Engine does not know which of them Vertex AI trains on. What is new in a series that trains is taken; anything
else is doubtful, and a person has to name it. Source: the discovery document of compute v1, machineTypes and
acceleratorTypes, aggregatedList, read 2026-11-26.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from jobs.catalog.accelerators import ACCELERATORS, Accelerator
from jobs.catalog.machines import MACHINES, Machine

SOURCE = "Compute Engine, machineTypes and acceleratorTypes"
MACHINE, ACCELERATOR = "machine", "accelerator"
NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
MIB, CENT = 1024, Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Change:
    """An entry to record: its kind and name, its values as JSON, the values known so far ({}: new), and any doubt."""

    kind: str
    name: str
    values: dict[str, Any]
    old: dict[str, Any] = field(default_factory=dict)
    doubt: str = ""


@dataclass(slots=True)
class Reading:
    """What the lists contain: machines and accelerators by name, and how many were skipped, by reason."""

    machines: dict[str, dict[str, Any]] = field(default_factory=dict)
    accelerators: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, collection: str, items: Iterable[Any]) -> None:
        """Add the items of one zone. `collection` is machineTypes or acceleratorTypes; other values are skipped."""
        for item in items:
            name = item.get("name") if isinstance(item, dict) else None
            if not isinstance(name, str) or not NAME.fullmatch(name):
                self.skipped["without a usable name"] += 1
            elif isinstance(item.get("deprecated"), dict) and item["deprecated"].get("state"):
                self.skipped["deprecated"] += 1
            elif collection == "machineTypes":
                self._add_machine(name, item)
            elif collection == "acceleratorTypes" and name.startswith("nvidia-") and not name.endswith("-vws"):
                label = str(item.get("description") or name).removeprefix("NVIDIA ")[:80]
                self.accelerators.setdefault(api_name(name), {"label": label})
            else:
                self.skipped["no GPU for training"] += 1

    def _add_machine(self, name: str, item: Mapping[str, Any]) -> None:
        cores, memory = item.get("guestCpus"), item.get("memoryMb")
        if type(cores) is not int or type(memory) is not int or not 0 < cores < 10**6 or not 0 < memory < 10**9:
            self.skipped["without cores or memory"] += 1
        elif item.get("isSharedCpu") is True or "-" not in name:
            self.skipped["shared cores"] += 1
        elif name.startswith(("ct", "tpu")):
            self.skipped["TPUs, which need topologies"] += 1
        else:
            gib = (Decimal(memory) / MIB).quantize(CENT).normalize()  # 14.4 GB are 14,746 MB in the list
            values = {"vcpu": cores, "memory_gib": f"{gib:f}", "gpu_type": "", "gpu_count": 0}
            attached = item.get("accelerators")
            first = attached[0] if isinstance(attached, list) and attached else {}
            kind, count = (first.get(key) for key in ("guestAcceleratorType", "guestAcceleratorCount"))
            if isinstance(kind, str) and type(count) is int and 0 < count < 1000:
                values |= {"gpu_type": api_name(kind), "gpu_count": count}
            self.machines[name] = values


def api_name(name: str) -> str:
    """Return Vertex AI's name of an accelerator for Compute Engine's: nvidia-tesla-t4 is NVIDIA_TESLA_T4."""
    return name.upper().replace("-", "_")


def plan(reading: Reading, confirmed: Iterable[str] = ()) -> tuple[list[Change], list[Change]]:
    """Return (changes to record, doubtful changes). `confirmed` are names, or patterns such as `n5-*`."""
    patterns = tuple(confirmed)
    changes: list[Change] = []
    doubtful: list[Change] = []
    for change in (*_new_accelerators(reading), *_machine_changes(reading)):
        is_confirmed = not change.doubt or any(fnmatchcase(change.name, each) for each in patterns)
        (changes if is_confirmed else doubtful).append(change)
    taken = {change.name for change in changes if change.kind == ACCELERATOR} | set(ACCELERATORS) | {""}
    kept = [each for each in changes if each.kind == ACCELERATOR or each.values["gpu_type"] in taken]
    without = [replace(each, doubt="its accelerator is not known") for each in changes if each not in kept]
    return kept, doubtful + without


def _new_accelerators(reading: Reading) -> Iterator[Change]:
    for name, values in sorted(reading.accelerators.items()):
        if name not in ACCELERATORS:
            yield Change(ACCELERATOR, name, values, doubt="whether Vertex AI has it, by this name, is not known")


def _machine_changes(reading: Reading) -> Iterator[Change]:
    trains = {each.series for each in MACHINES.values() if each.trainable}
    for name, values in sorted(reading.machines.items()):
        known = MACHINES.get(name)
        old = values_of(known) if known is not None else {}
        if known is None:
            series = name.partition("-")[0]
            doubt = "" if series in trains else f"no machine of the series {series} is known to train"
            yield Change(MACHINE, name, values, doubt=doubt)
        elif known.trainable and any(old[key] not in (None, values[key]) for key in old):
            yield Change(MACHINE, name, values, old)


def values_of(known: Machine) -> dict[str, Any]:
    """Return the values that Compute Engine lists for a machine of the catalogue; None for what no source gives."""
    memory = None if known.memory_gib is None else f"{known.memory_gib.quantize(CENT).normalize():f}"
    is_fixed = known.gpu_attach == "fixed"
    gpus = {"gpu_type": known.gpu_type if is_fixed else "", "gpu_count": known.gpu_count if is_fixed else 0}
    return {"vcpu": known.vcpu, "memory_gib": memory, **gpus}


def recorded_machine(name: str, values: Mapping[str, Any], as_of: date) -> Machine:
    """Return the machine of recorded values; what they lack is that of the data file, if it has the machine."""
    known = MACHINES.listed.get(name)
    hardware: dict[str, Any] = {
        "vcpu": int(values["vcpu"]),
        "memory_gib": Decimal(values["memory_gib"]),
        "trainable": True,
        "source": SOURCE,
        "read_date": as_of,
    }
    if values["gpu_type"]:
        hardware |= {"gpu_type": values["gpu_type"], "gpu_count": int(values["gpu_count"]), "gpu_attach": "fixed"}
    if known is not None:
        return replace(known, **hardware)
    none: dict[str, Any] = {"gpu_type": "", "gpu_count": 0, "gpu_attach": "", "local_ssd_gib": None, "notes": ""}
    return Machine(**{"machine_type": name, "series": name.partition("-")[0], **none, **hardware})


def recorded_accelerator(name: str, values: Mapping[str, Any], as_of: date) -> Accelerator:
    """Return the accelerator of recorded values. Its quota is not known, and Flex-start is not ruled out."""
    return Accelerator(
        name=name,
        label=str(values["label"]),
        kind="gpu",
        quota="",
        flex_start=True,
        retired_date=None,
        replacement="",
        min_cuda=None,
        end_cuda=None,
        has_default_quota=True,
        source=SOURCE,
        read_date=as_of,
    )
