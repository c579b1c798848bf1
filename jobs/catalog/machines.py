"""Machine types: their parts, the accelerators that they include or can attach, and their TPU topologies."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from jobs.bounds import parse_digits
from jobs.catalog.growing import Growing, forget_when_recorded
from jobs.catalog.rows import day, decimal, rows

READ_DATE = date(2026, 8, 22)
TPU_NAMES = {"ct5lp": "TPU_V5E", "ct6e": "TPU_V6E", "tpu7x": "TPU_7X"}
POD_CORES = 32
EVICTION_GIB = Decimal(100) / 1024
MEMORY_RESERVED = tuple(
    (Decimal(size), Decimal(percent) / 100) for size, percent in ((4, 25), (4, 20), (8, 10), (112, 6), (0, 2))
)
"""Shares of a node's memory that GKE reserves: (GiB, share) from the first GiB on; 0 means the rest."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A TPU slice: its name (`4x4`), its chips and its number of machines."""

    name: str
    chips: int
    vms: int


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine type.

    `gpu_attach` is "fixed" (the machine has exactly `gpu_count` of `gpu_type`), "attachable" (`attachable` has the
    possible counts of each type) or "" (none). For TPU machines, `gpu_count` is the chips of one machine. `vcpu`,
    `memory_gib` and `local_ssd_gib` are None if no source gives them. `trainable` is false for types that only serve.
    """

    machine_type: str
    series: str
    vcpu: int | None
    memory_gib: Decimal | None
    gpu_type: str
    gpu_count: int
    gpu_attach: str
    local_ssd_gib: int | None
    trainable: bool
    notes: str
    source: str
    read_date: date | None = READ_DATE
    attachable: Mapping[str, frozenset[int]] = field(default_factory=dict)
    topologies: Mapping[str, Topology] = field(default_factory=dict)

    @property
    def is_tpu(self) -> bool:
        """Whether it is a TPU machine."""
        return self.series in TPU_NAMES or self.series == "cloud-tpu"

    @property
    def fixed_accelerator(self) -> str:
        """The accelerator that the machine always has, with our names for TPUs; "" if it has none or a choice."""
        return TPU_NAMES.get(self.series, self.gpu_type if self.gpu_attach == "fixed" else "")

    @property
    def allocatable_gib(self) -> Decimal | None:
        """The memory in GiB that GKE leaves to programs on the machine; Vertex AI's own agents use part of it.

        Source: GKE documentation, plan-node-sizes, "Memory and CPU reservations" (2026-11-22).
        """
        if self.memory_gib is None:
            return None
        left, reserved = self.memory_gib, EVICTION_GIB
        for size, share in MEMORY_RESERVED:
            part = min(left, size) if size else left
            reserved, left = reserved + part * share, left - part
        return max(self.memory_gib - reserved, Decimal(0))

    def takes(self, accelerator: str, count: int) -> bool:
        """Return whether a job may request `count` of an accelerator (an AcceleratorType) on this machine."""
        if self.series == "cloud-tpu":
            return accelerator in self.attachable and (count == 8 or (count >= POD_CORES and count % POD_CORES == 0))
        if self.gpu_attach == "fixed":
            return accelerator == self.gpu_type and count == self.gpu_count
        return count in self.attachable.get(accelerator, frozenset())


def _attachable(text: str) -> Mapping[str, frozenset[int]]:
    """Parse `NVIDIA_TESLA_T4:1|2|4;...`; the counts of TPU pods are words, and `takes` checks them."""
    found: dict[str, frozenset[int]] = {}
    for part in filter(None, text.split(";")):
        name, _, counts = part.partition(":")
        found[name] = frozenset(count for count in map(parse_digits, counts.split("|")) if count is not None)
    return MappingProxyType(found)


def _topologies() -> dict[str, dict[str, Topology]]:
    found: dict[str, dict[str, Topology]] = {}
    for row in rows("topologies"):
        topology = Topology(row["topology"], int(row["chips"]), int(row["vms"]))
        found.setdefault(row["machine_type"], {})[topology.name] = topology
    return found


def _load() -> Mapping[str, Machine]:
    topologies = _topologies()
    found = {}
    for row in rows("machines"):
        name = row["machine_type"]
        cloud_tpu = name == "cloud-tpu"
        found[name] = Machine(
            machine_type=name,
            series=row["series"],
            vcpu=int(row["vcpu"]) if row["vcpu"] else None,
            memory_gib=decimal(row["memory_gb"]),
            gpu_type="" if cloud_tpu else row["gpu_type"],
            gpu_count=int(row["gpu_count"] or 0),
            gpu_attach=row["gpu_attach"],
            local_ssd_gib=int(row["local_ssd_gb"]) if row["local_ssd_gb"] else None,
            trainable=not row["notes"].startswith("NOT in the accepted list"),
            notes=row["notes"],
            source=row["source"],
            attachable=_attachable(row["attachable_gpu_counts"]),
            topologies=MappingProxyType(topologies.get(name, {})),
        )
    return MappingProxyType(found)


MACHINES: Growing[Machine] = Growing(_load())
"""`{machine type: Machine}`, including types that only serve, then those that the site has recorded."""


@cache
def trainable() -> tuple[str, ...]:
    """Return the machine types that train."""
    return tuple(name for name, machine in MACHINES.items() if machine.trainable)


forget_when_recorded(trainable.cache_clear)


def machine(machine_type: str) -> Machine | None:
    """Return the machine of this type, or None."""
    return MACHINES.get(machine_type)


def count_accelerators(summary: str) -> Counter[str]:
    """Return the number of accelerators by name in the machines of a job.

    `summary` is the worker pools in one line, `1 × n1-standard-8 (2 × NVIDIA_TESLA_T4) + 4 × n1-standard-4`. Unknown
    machines and the truncated part of a long summary are not counted.
    """
    counts: Counter[str] = Counter()
    for text in summary.split(" + "):
        machine_text, _, attached = text.partition(" (")
        replicas_text, _, name = machine_text.partition(" × ")
        if (replicas := parse_digits(replicas_text)) is None:
            continue
        number_text, _, accelerator = attached.rstrip(")").partition(" × ")
        if (number := parse_digits(number_text)) is not None:
            counts[accelerator] += replicas * number
        elif (known := machine(name)) is not None and known.fixed_accelerator:
            counts[known.fixed_accelerator] += replicas * known.gpu_count
    return counts


@dataclass(frozen=True, slots=True)
class Disk:
    """A type of boot disk; `default_for` lists machine types, `*` means all others."""

    disk_type: str
    label: str
    default_for: tuple[str, ...]
    source: str
    read_date: date | None


DISKS: Mapping[str, Disk] = MappingProxyType(
    {
        row["disk_type"]: Disk(
            row["disk_type"], row["label"], tuple(row["default_for"].split(";")), row["source"], day(row["read"])
        )
        for row in rows("disks")
    }
)
MIN_DISK_GB = 100
MAX_DISK_GB = 64_000


def default_disk(machine_type: str) -> str:
    """Return the default boot disk type of a machine."""
    for disk in DISKS.values():
        if machine_type in disk.default_for:
            return disk.disk_type
    return "pd-ssd"
