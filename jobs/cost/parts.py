"""The parts of a machine in the terms of the price files: the whole machine, or its cores, memory, GPUs and disks.

Google prices most machines by core and GiB. Our files have the sum for most of them and the parts for some.
"""

from dataclasses import dataclass
from decimal import Decimal

from jobs.catalog import ACCELERATORS, default_disk, machine
from jobs.cost.lines import Shape

FAMILIES = {
    "a2-highgpu": "a2",
    "a2-megagpu": "a2",
    "a2-ultragpu": "a2",
    "a3-highgpu": "a3",
    "a3-megagpu": "a3plus",
    "a3-ultragpu": "a3ultra",
    "g4-standard": "g4",
}
"""Machine series with unit prices for cores and memory, and the name of these prices in the files."""

CHIPS = {"ct5lp": "tpu-v5e-chip", "ct6e": "tpu-v6e-chip"}
DEVICE_CORES = 8
"""TPU v2 and v3 are priced per device of eight cores; acceleratorCount counts cores."""


@dataclass(frozen=True, slots=True)
class Part:
    """A quantity of a resource, by its name in the price files."""

    resource: str
    quantity: Decimal
    unit: str


def whole(shape: Shape) -> Part:
    """Return the whole machine: with fixed GPUs and bundled local SSD, without attached GPUs and boot disk."""
    return Part(shape.machine_type or "a machine without a type", Decimal(1), "machine")


def pieces(shape: Shape) -> tuple[Part, ...]:
    """Return the machine in parts, without its local SSD; empty if the files have no unit prices for it."""
    row = machine(shape.machine_type)
    if row is None:
        return ()
    if row.gpu_type == "NVIDIA_B200" and row.gpu_count:  # a slice includes its share of the host
        return (Part(row.gpu_type, Decimal(row.gpu_count), "GPU slice"),)
    family = FAMILIES.get(shape.machine_type.rpartition("-")[0])
    if family is None or not (row.vcpu and row.memory_gib and row.gpu_type and row.gpu_count):
        return ()
    return (
        Part(row.gpu_type, Decimal(row.gpu_count), "GPU"),
        Part(f"{family}-vcpu-hour", Decimal(row.vcpu), "vCPU"),
        Part(f"{family}-ram-gb-hour", row.memory_gib, "GiB"),
    )


def local_ssd(shape: Shape) -> tuple[Part, ...]:
    """Return the local SSD that is known to come with the machine."""
    row = machine(shape.machine_type)
    if row is None or not row.local_ssd_gib:
        return ()
    return (Part("local-ssd-gb-month", Decimal(row.local_ssd_gib), "GiB"),)


def attached(shape: Shape) -> tuple[Part, ...]:
    """Return the GPUs that are attached to the machine and priced separately, as with N1."""
    row = machine(shape.machine_type)
    # An accelerator that the catalogue does not know is priced by nothing, also on a machine with GPUs of its own.
    fixed = row is not None and row.gpu_attach == "fixed" and shape.accelerator_type in ("", *ACCELERATORS)
    if fixed or not shape.accelerator_type or shape.accelerator_count <= 0:
        return ()
    return (Part(shape.accelerator_type, Decimal(shape.accelerator_count), "GPU"),)


def is_tpu(shape: Shape) -> bool:
    """Return whether the machine is a TPU, which is priced by chip or device."""
    row = machine(shape.machine_type)
    return row is not None and row.is_tpu


def tpu(shape: Shape) -> Part:
    """Return the TPU chips or devices of one replica; a topology such as 4x4 includes all its machines.

    Resources that no price file knows keep their own name: TPU7x, and slices of v2 and v3 larger than one device.
    """
    row = machine(shape.machine_type)
    if row is not None and row.series in CHIPS:
        topology = row.topologies.get(shape.tpu_topology)
        if topology is None and shape.tpu_topology:  # the number of its chips is not known
            return Part(f"{shape.machine_type} {shape.tpu_topology}", Decimal(1), "machine")
        return Part(CHIPS[row.series], Decimal(topology.chips if topology else row.gpu_count), "chip")
    if shape.accelerator_type and shape.accelerator_count == DEVICE_CORES:
        return Part(shape.accelerator_type, Decimal(1), "device")
    size = f" {shape.accelerator_count} × {shape.accelerator_type}" if shape.accelerator_type else ""
    return Part(f"{shape.machine_type}{size}", Decimal(1), "machine")


def bills_local_ssd(shape: Shape) -> bool:
    """Return whether Vertex AI bills the local SSD; the bill of an A3 machine had no line for it."""
    row = machine(shape.machine_type)
    return row is None or row.series != "a3"


def boot_disk(shape: Shape) -> Part:
    """Return the boot disk, by default of the machine's default type; a TPU slice has one for each of its machines."""
    row = machine(shape.machine_type)
    topology = row.topologies.get(shape.tpu_topology) if row is not None else None
    disk_type = shape.disk_type or default_disk(shape.machine_type)
    return Part(disk_type, Decimal(shape.disk_gib * (topology.vms if topology else 1)), "GiB")
