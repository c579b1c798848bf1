"""The demand of worker pools: machines by accelerator type or vCPU, reservations, and quota metrics.

A *unit* is an accelerator type (`NVIDIA_L4`), `cpu` for the vCPUs of machines without one, or a TPU machine type. The
quota metrics come from public quota lists and issue threads. Spot and Flex-start use `preemptible` metrics.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from emulator.capacity.machines import MACHINES
from emulator.protocol.documents import Document
from emulator.state.records import Job

METRIC_PREFIX = "aiplatform.googleapis.com/"
PREEMPTIBLE = frozenset({"SPOT", "FLEX_START"})
SHARED_CPU_SERIES = frozenset({"n1", "e2"})
ACCELERATOR_METRICS = {
    "NVIDIA_TESLA_T4": "nvidia_t4_gpus",
    "NVIDIA_TESLA_P4": "nvidia_p4_gpus",
    "NVIDIA_TESLA_P100": "nvidia_p100_gpus",
    "NVIDIA_TESLA_V100": "nvidia_v100_gpus",
    "NVIDIA_TESLA_A100": "nvidia_a100_gpus",
    "NVIDIA_A100_80GB": "nvidia_a100_80gb_gpus",
    "NVIDIA_L4": "nvidia_l4_gpus",
    "NVIDIA_H100_80GB": "nvidia_h100_gpus",
    "NVIDIA_H100_MEGA_80GB": "nvidia_h100_mega_gpus",
    "NVIDIA_H200_141GB": "nvidia_h200_gpus",
    "NVIDIA_B200": "nvidia_b200_gpus",
    "NVIDIA_GB200": "nvidia_gb200_gpus",
    "NVIDIA_RTX_PRO_6000": "nvidia_rtx_pro_6000_gpus",
    "TPU_V2": "tpu_v2",
    "TPU_V3": "tpu_v3",
}


@dataclass(frozen=True)
class Demand:
    """The demand in one region. `source` is "machines" or "spot".

    Machines of reservations are not counted in `units`.
    """

    region: str
    source: str
    units: Counter[str] = field(default_factory=Counter)
    metrics: Counter[str] = field(default_factory=Counter)
    reserved: Counter[str] = field(default_factory=Counter)
    any_reserved: Counter[str] = field(default_factory=Counter)
    """Machines by type that take any reservation, or else use units: `{machine type: count}`."""
    any_units: Counter[str] = field(default_factory=Counter)
    """The units of those machines."""


def of_job(job: Job) -> Demand:
    """Return the demand of a job."""
    return of_worker_pools(job.location, [pool for _, pool in job.worker_pools], job.strategy)


def of_worker_pools(region: str, pools: list[Document], strategy: str = "STANDARD") -> Demand:
    """Return the demand of worker pools, or of the resource pools of a persistent resource."""
    demand = Demand(region, "spot" if strategy == "SPOT" else "machines")
    for pool in filter(None, pools):  # an omitted worker pool is an empty message
        machine = pool.get("machineSpec", {})
        count = int(pool.get("replicaCount", "1"))
        demand.metrics.update(metrics_of(machine, count, strategy))
        affinity = machine.get("reservationAffinity", {})
        kind = affinity.get("reservationAffinityType", "")
        if kind == "SPECIFIC_RESERVATION":
            demand.reserved[affinity["values"][0]] += count
            continue  # its machines are reserved, so it takes none of those shared by all jobs
        demand.units.update(units_of(machine, count))
        if kind == "ANY_RESERVATION":
            demand.any_reserved[machine["machineType"]] += count
            demand.any_units.update(units_of(machine, count))
    return demand


def units_of(machine: dict[str, Any], count: int) -> Counter[str]:
    """Return the units of some machines with the same spec."""
    name = machine["machineType"]
    if machine.get("acceleratorType"):
        return Counter({machine["acceleratorType"]: count * machine.get("acceleratorCount", 1)})
    if "tpuTopology" in machine:
        return Counter({name: count})
    return Counter({"cpu": count * MACHINES[name].vcpus})


def metrics_of(machine: dict[str, Any], count: int, strategy: str) -> Counter[str]:
    """Return the quota that some machines with the same spec use, by metric."""
    prefix = "custom_model_training_" + ("preemptible_" if strategy in PREEMPTIBLE else "")
    known = MACHINES[machine["machineType"]]
    series = "cpus" if known.series in SHARED_CPU_SERIES else f"{known.series}_cpus"
    metrics = Counter({prefix + series: count * known.vcpus})
    accelerator = machine.get("acceleratorType", "")
    if accelerator:
        name = ACCELERATOR_METRICS.get(accelerator, accelerator.lower())
        metrics[prefix + name] += count * machine.get("acceleratorCount", 1)
    return metrics
