"""Rules of machines and their accelerators: what exists, what fits together, what a region has."""

from collections.abc import Iterator
from decimal import Decimal

from jobs.catalog import ACCELERATORS, MACHINES, TRAINABLE, Machine, accelerators_in, machine, regions_with
from jobs.catalog.regions import REGIONS
from jobs.spec import MachineSpec, Severity, Submission, quoted
from jobs.spec.shape import nearest
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import API, COMPUTE, GCLOUD, K80, LOCATIONS, RESERVATIONS, RUNS

POD_CORES = 8
SMALL_MEMORY_GB = 16
"""The documentation names n1-standard-4 (15 GB) as an example of the smallest machines."""
AGENTS_SHARE = Decimal("0.4")


def known_machines(submission: Submission) -> Iterator[tuple[int, MachineSpec, Machine]]:
    """Yield index, machine spec and catalogue entry of the pools whose machine is known."""
    for index, pool in submission.pools:
        found = machine(pool.machine_spec.machine_type)
        if found is not None:
            yield index, pool.machine_spec, found


def region_accelerator(spec: MachineSpec, found: Machine | None) -> str:
    """Return the accelerator by the name that the region table uses, TPU Pods apart; empty where there is none."""
    if found is not None and found.fixed_accelerator:
        return found.fixed_accelerator
    name = spec.accelerator
    is_pod = found is not None and found.series == "cloud-tpu" and spec.accelerator_count > POD_CORES
    return f"{name}_POD" if is_pod and f"{name}_POD" in ACCELERATORS else name


@rule(Severity.ERROR, GCLOUD)
def machine_type_is_given(submission: Submission) -> Iterator[Problem]:
    """Every pool names its machine type."""
    for index, pool in submission.pools:
        if not pool.machine_spec.machine_type:
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                f"Worker pool {index} names no machine type.",
                "Choose one, e.g. n1-standard-4.",
            )


@rule(Severity.ERROR, COMPUTE)
def machine_type_trains(submission: Submission) -> Iterator[Problem]:
    """The machine type is one of those that training supports."""
    for index, pool in submission.pools:
        name = pool.machine_spec.machine_type
        found = machine(name)
        if not name or (found is not None and found.trainable) or is_placeholder(name):
            continue
        what = "serves predictions but does not train" if found else "is no machine type that training supports"
        near = nearest(name, TRAINABLE)
        remedy = f"Did you mean `{near}`?" if near else "Choose one from the catalogue."
        yield Problem(submission.pool_path(index, "machineSpec.machineType"), f"{quoted(name)} {what}.", remedy)


@rule(Severity.NOTE, RUNS)
def small_machines_keep_memory(submission: Submission) -> Iterator[Problem]:
    """On the smallest machines, of up to 16 GB, Vertex AI's agents take up to 40 percent of the memory."""
    for index, _, found in known_machines(submission):
        memory = found.memory_gib
        if found.trainable and memory is not None and memory <= SMALL_MEMORY_GB:
            left = found.allocatable_gib
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                f"Of the {memory:g} GB of {found.machine_type}, GKE leaves {left:.1f} GB to programs, and Vertex AI's "
                f"agents may leave as little as {memory * (1 - AGENTS_SHARE):.1f} GB.",
                "Choose a machine with more memory if your program needs more.",
            )


@rule(Severity.ERROR, GCLOUD)
def accelerator_has_type_and_count(submission: Submission) -> Iterator[Problem]:
    """An accelerator has both a type and a count, or neither."""
    for index, pool in submission.pools:
        spec = pool.machine_spec
        if spec.accelerator and spec.accelerator_count < 1:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorCount"),
                f"Worker pool {index} asks for {quoted(spec.accelerator)} but not for how many.",
                "Set acceleratorCount to 1 or more.",
            )
        elif spec.accelerator_count and not spec.accelerator:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                f"Worker pool {index} asks for {spec.accelerator_count} accelerators but not of which type.",
                "Set acceleratorType, or remove acceleratorCount.",
            )


@rule(Severity.ERROR, K80)
def accelerators_are_not_retired(submission: Submission) -> Iterator[Problem]:
    """The accelerator is still supported."""
    for index, pool in submission.pools:
        found = ACCELERATORS.get(pool.machine_spec.accelerator)
        if found is not None and found.retired_date is not None:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                f"Support for {found.name} ended on {found.retired_date.isoformat()}.",
                f"Use {found.replacement} instead.",
            )


@rule(Severity.ERROR, COMPUTE)
def accelerators_fit_the_machine(submission: Submission) -> Iterator[Problem]:
    """The machine takes this type and number of accelerators."""
    for index, spec, found in known_machines(submission):
        name, count = spec.accelerator, spec.accelerator_count
        retired = name in ACCELERATORS and ACCELERATORS[name].is_retired
        if not name or count < 1 or retired or found.takes(name, count):
            continue
        allowed = sorted(found.attachable.get(name, ()))
        path = submission.pool_path(index, "machineSpec.acceleratorCount" if allowed else "machineSpec.acceleratorType")
        yield Problem(
            path, f"{found.machine_type} does not take {count} × {quoted(name)[1:-1]}.", _fit(found, name, allowed)
        )


def _fit(found: Machine, name: str, allowed: list[int]) -> str:
    if found.gpu_attach == "fixed" and found.gpu_type:
        return f"It always has {found.gpu_count} × {found.gpu_type}."
    if found.is_tpu and not found.gpu_type and found.series != "cloud-tpu":
        return "Leave acceleratorType out; tpuTopology says it all."
    if found.series == "cloud-tpu":
        return "It takes TPU_V2 or TPU_V3: 8 cores, or a Pod of a multiple of 32."
    if allowed:
        return f"It takes {', '.join(map(str, allowed))}."
    carrier = next((kind for kind, other in MACHINES.items() if other.gpu_type == name and other.trainable), "")
    attaching = "an N1 machine" if any(name in other.attachable for other in MACHINES.values()) else ""
    return f"Use {carrier or attaching}." if carrier or attaching else "Choose one from the catalogue."


@rule(Severity.NOTE, COMPUTE)
def fixed_accelerators_are_named(submission: Submission) -> Iterator[Problem]:
    """A machine that always carries GPUs still names them."""
    for index, spec, found in known_machines(submission):
        if found.gpu_attach == "fixed" and found.gpu_type and not spec.accelerator and not spec.accelerator_count:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                f"{found.machine_type} always has {found.gpu_count} × {found.gpu_type}; the pages ask to name them.",
                f"Set acceleratorType: {found.gpu_type} and acceleratorCount: {found.gpu_count}.",
            )


@rule(Severity.ERROR, LOCATIONS)
def region_has_the_accelerator(submission: Submission) -> Iterator[Problem]:
    """The region offers the accelerator for training."""
    if submission.region not in REGIONS:
        return
    offered = accelerators_in(submission.region)
    for index, pool in submission.pools:
        spec = pool.machine_spec
        name = region_accelerator(spec, machine(spec.machine_type))
        known = ACCELERATORS.get(name)
        if known is None or known.is_retired or name in offered:
            continue
        elsewhere = regions_with(name)
        remedy = f"It is offered in {', '.join(elsewhere[:8])}." if elsewhere else "No region offers it for training."
        path = "machineSpec.acceleratorType" if spec.accelerator else "machineSpec.machineType"
        yield Problem(
            submission.pool_path(index, path), f"{submission.region} has no {known.label} for training.", remedy
        )


@rule(Severity.NOTE, LOCATIONS)
def accelerators_share_a_zone(submission: Submission) -> Iterator[Problem]:
    """Different GPUs in one job must all exist in one zone of the region."""
    kinds = {pool.machine_spec.accelerator for _, pool in submission.pools} - {""}
    if len(kinds) > 1:
        yield Problem(
            submission.spec_field("workerPoolSpecs"),
            f"The pools use {len(kinds)} kinds of accelerator, which must all exist in one zone of the region.",
            "Use one kind, or check the zones of the region.",
        )


@rule(Severity.ERROR, API)
def gpu_partitions_count_one(submission: Submission) -> Iterator[Problem]:
    """A partition of a GPU is asked for with an accelerator count of 1."""
    for index, pool in submission.pools:
        spec = pool.machine_spec
        if spec.gpu_partition_size and spec.accelerator_count != 1:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorCount"),
                f"With gpuPartitionSize the count must be 1, not {spec.accelerator_count}.",
                "Set acceleratorCount to 1, or remove gpuPartitionSize.",
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def gb200_comes_from_a_reservation(submission: Submission) -> Iterator[Problem]:
    """GB200 machines are to be had only from a shared reservation."""
    for index, spec, found in known_machines(submission):
        affinity = spec.reservation_affinity
        named = affinity is not None and affinity.reservation_affinity_type == "SPECIFIC_RESERVATION"
        if found.gpu_type == "NVIDIA_GB200" and not named and not submission.job_spec.persistent_resource_id:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                f"{found.machine_type} is to be had only from a shared reservation.",
                "Name the reservation with SPECIFIC_RESERVATION.",
            )


RULES = (
    machine_type_is_given,
    machine_type_trains,
    small_machines_keep_memory,
    accelerator_has_type_and_count,
    accelerators_are_not_retired,
    accelerators_fit_the_machine,
    fixed_accelerators_are_named,
    region_has_the_accelerator,
    accelerators_share_a_zone,
    gpu_partitions_count_one,
    gb200_comes_from_a_reservation,
)
