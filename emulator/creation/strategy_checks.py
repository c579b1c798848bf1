"""The checks of Vertex AI on a job's scheduling strategy. The wording of the messages is ours (unconfirmed).

Sources in Google's documentation, read 2026-08 to 2026-11: "Schedule training jobs based on resource availability"
(Flex-start: its GPUs, one machine configuration, seven days), "Use Spot VMs with training" (no TPU Pods). Google's
pipeline components omit a waiting time unless the strategy is Flex-start.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from emulator.protocol import schema
from emulator.protocol.documents import Document
from emulator.protocol.timestamps import parse_duration

MAX_FLEX_START_SECONDS = 604_800
FLEX_START_GPUS = frozenset(
    """NVIDIA_L4 NVIDIA_TESLA_A100 NVIDIA_A100_80GB NVIDIA_H100_80GB NVIDIA_H100_MEGA_80GB NVIDIA_H200_141GB
    NVIDIA_B200""".split()
)
SPOT = {"SPOT", "LOW_COST"}
TPU_CHIPS_OF_HOST = re.compile(r"(?:ct5lp|ct6e|tpu7x)-\w+-(\d+)t")
CLOUD_TPU_CORES_OF_HOST = 8


def scheduling(spec: Document, *, at: str) -> Iterator[tuple[str, str]]:
    """Check that strategy, timeout, waiting time and machines of a CustomJobSpec are compatible.

    `at` is the prefix of paths in the spec, such as `job_spec.`.
    """
    settings: dict[str, Any] = spec.get("scheduling", {})
    strategy, where = settings.get("strategy", "STANDARD"), f"{at}scheduling"
    if strategy not in schema.ENUMS["Scheduling.Strategy"]:
        yield f"{where}.strategy", f"Unknown scheduling strategy: {strategy}."
    if parse_duration(settings.get("timeout", "604800s")) <= 0:
        yield f"{where}.timeout", "The timeout must be positive."
    if parse_duration(settings.get("maxWaitDuration", "0s")) < 0:
        yield f"{where}.max_wait_duration", "The maximum waiting time must not be negative."
    if "maxWaitDuration" in settings and strategy != "FLEX_START":
        yield f"{where}.max_wait_duration", "max_wait_duration is supported for the FLEX_START strategy only."
    if strategy == "FLEX_START":
        yield from _flex_start(spec, at=at)
    elif strategy in SPOT:
        if "persistentResourceId" in spec:
            yield f"{where}.strategy", "The SPOT strategy cannot be used together with a persistent resource."
        for path, machine in _machines(spec, at):
            if is_tpu_pod(machine):
                yield path, "The SPOT strategy does not support TPU Pods."


def _machines(spec: Document, at: str) -> Iterator[tuple[str, Document]]:
    """Yield (path, MachineSpec) of each non-empty pool."""
    for index, pool in enumerate(spec.get("workerPoolSpecs", [])):
        if pool:
            yield f"{at}worker_pool_specs[{index}].machine_spec", pool.get("machineSpec", {})


def _flex_start(spec: Document, *, at: str) -> Iterator[tuple[str, str]]:
    where, machines = f"{at}scheduling", list(_machines(spec, at))
    if parse_duration(spec["scheduling"].get("timeout", "604800s")) > MAX_FLEX_START_SECONDS:
        yield f"{where}.timeout", "The timeout of a FLEX_START job must be at most 604800s."
    if any(machine != machines[0][1] for _, machine in machines):
        yield where, "All worker pools of a FLEX_START job must have the same machine specification."
    if any("reservationAffinity" in machine for _, machine in machines):
        yield where, "FLEX_START cannot be used together with Compute Engine reservations."
    for path, machine in machines:
        kind = machine.get("acceleratorType")
        if kind not in FLEX_START_GPUS and machine.get("machineType"):
            asked = f'accelerator "{kind}"' if kind else f'machine type "{machine["machineType"]}" without a GPU'
            yield path, f"The FLEX_START strategy does not support {asked}."


def is_tpu_pod(machine: Document) -> bool:
    """Return whether a machine is a TPU Pod, a slice of several TPU hosts."""
    name = machine.get("machineType", "")
    if name == "cloud-tpu":
        return bool(machine.get("acceleratorCount", 0) > CLOUD_TPU_CORES_OF_HOST)
    host = TPU_CHIPS_OF_HOST.fullmatch(name)
    sides = machine.get("tpuTopology", "").split("x")
    if host is None or not all(side.isdecimal() for side in sides):
        return False
    return math.prod(map(int, sides)) > int(host[1])
