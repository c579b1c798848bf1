"""What a price can be for: the resources of the price book, and the strategies and bases under which each is priced."""

from functools import cache

from jobs.catalog import ACCELERATORS, DISKS, MACHINES, Machine
from jobs.cost.parts import CHIPS, FAMILIES
from jobs.cost.prices import ANY_STRATEGY, COMPUTE_ENGINE, MANAGEMENT_FEE, VERTEX_TRAINING, Key

STRATEGIES = {
    COMPUTE_ENGINE: ("standard", "spot", "flex_start"),
    VERTEX_TRAINING: ("standard",),
    MANAGEMENT_FEE: (ANY_STRATEGY, "spot", "flex_start", "reservation"),
}
"""Under which strategies something is priced, for each basis; a reservation pays Compute Engine's standard price."""


def family(machine: Machine) -> str:
    """Return the name under which the price book holds the machine's cores and memory, such as a3plus or n1."""
    return FAMILIES.get(machine.machine_type.rpartition("-")[0], machine.series)


def vcpu(machine: Machine) -> str:
    """Return the resource that one core of the machine is."""
    return f"{family(machine)}-vcpu-hour"


def memory(machine: Machine) -> str:
    """Return the resource that one GiB of the machine's memory is."""
    return f"{family(machine)}-ram-gb-hour"


@cache
def resources() -> tuple[str, ...]:
    """Return every resource that can have a price: machines, their parts, accelerators, disks and TPU chips."""
    machines = [machine for machine in MACHINES.values() if machine.trainable and not machine.is_tpu]
    parts = {part for machine in machines for part in (vcpu(machine), memory(machine))}
    accelerators = [each.name for each in ACCELERATORS.values() if not each.is_retired]
    disks = [f"{disk}-gb-month" for disk in (*DISKS, "local-ssd")]
    return (*(machine.machine_type for machine in machines), *accelerators, *sorted(parts), *disks, *CHIPS.values())


def keys_in(region: str) -> tuple[Key, ...]:
    """Return every key that a region can have, those without any price as well, in the order of `resources`."""
    bases = [(strategy, basis) for basis, strategies in STRATEGIES.items() for strategy in strategies]
    return tuple((resource, region, *pair) for resource in resources() for pair in bases)
