"""The resources of the price book, and the strategies and bases under which each has a price."""

from functools import cache

from jobs.catalog import ACCELERATORS, DISKS, MACHINES, Machine, forget_when_recorded
from jobs.cost.parts import CHIPS, FAMILIES
from jobs.cost.prices import ANY_STRATEGY, COMPUTE_ENGINE, MANAGEMENT_FEE, VERTEX_TRAINING, Key

STRATEGIES = {
    COMPUTE_ENGINE: ("standard", "spot", "flex_start"),
    VERTEX_TRAINING: ("standard",),
    MANAGEMENT_FEE: (ANY_STRATEGY, "spot", "flex_start", "reservation"),
}
"""The strategies that have a price, for each basis; a reservation pays Compute Engine's standard price."""


def family(machine: Machine) -> str:
    """Return the price book's name for the machine's cores and memory, such as a3plus or n1."""
    return FAMILIES.get(machine.machine_type.rpartition("-")[0], machine.series)


def vcpu(machine: Machine) -> str:
    """Return the resource for one core of the machine."""
    return f"{family(machine)}-vcpu-hour"


def memory(machine: Machine) -> str:
    """Return the resource for one GiB of the machine's memory."""
    return f"{family(machine)}-ram-gb-hour"


@cache
def resources() -> tuple[str, ...]:
    """Return every resource that can have a price: machines, their parts, accelerators, disks and TPU chips."""
    machines = [machine for machine in MACHINES.values() if machine.trainable and not machine.is_tpu]
    parts = {part for machine in machines for part in (vcpu(machine), memory(machine))}
    accelerators = [each.name for each in ACCELERATORS.values() if not each.is_retired]
    disks = [f"{disk}-gb-month" for disk in (*DISKS, "local-ssd")]
    return (*(machine.machine_type for machine in machines), *accelerators, *sorted(parts), *disks, *CHIPS.values())


forget_when_recorded(resources.cache_clear)


def keys_in(region: str) -> tuple[Key, ...]:
    """Return every key that a region can have, including those without a price, in the order of `resources`."""
    bases = [(strategy, basis) for basis, strategies in STRATEGIES.items() for strategy in strategies]
    return tuple((resource, region, *pair) for resource in resources() for pair in bases)
