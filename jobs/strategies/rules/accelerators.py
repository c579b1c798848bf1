"""Rules about accelerators: those that exist, fit a machine and are offered in a region."""

from collections.abc import Iterator

from jobs.catalog import ACCELERATORS, MACHINES, READ_DATE, Machine, accelerators_in, machine, regions_with
from jobs.catalog.regions import REGIONS
from jobs.spec import MachineSpec, Severity, Submission, quoted
from jobs.spec.unknown import confirmed_value
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.machines import known_machines
from jobs.strategies.sources import API, COMPUTE, GCLOUD, K80, LOCATIONS, RESERVATIONS
from jobs.texts import day_of
from jobs.texts import translatable as _

POD_CORES = 8


def region_accelerator(spec: MachineSpec, found: Machine | None) -> str:
    """Return the accelerator's name in the region table, which lists TPU Pods separately; "" if there is none."""
    if found is not None and found.fixed_accelerator:
        return found.fixed_accelerator
    name = spec.accelerator
    is_pod = found is not None and found.series == "cloud-tpu" and spec.accelerator_count > POD_CORES
    return f"{name}_POD" if is_pod and f"{name}_POD" in ACCELERATORS else name


@rule(Severity.ERROR, GCLOUD)
def accelerator_has_type_and_count(submission: Submission) -> Iterator[Problem]:
    """An accelerator has both a type and a count, or neither."""
    for index, pool in submission.pools:
        spec = pool.machine_spec
        if spec.accelerator and spec.accelerator_count < 1:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorCount"),
                _(
                    "Worker pool %(index)s asks for %(accelerator)s but not for how many.",
                    index=index,
                    accelerator=quoted(spec.accelerator),
                ),
                _("Set acceleratorCount to 1 or more."),
            )
        elif spec.accelerator_count and not spec.accelerator:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                _(
                    "Worker pool %(index)s asks for %(count)s accelerators but not of which type.",
                    index=index,
                    count=spec.accelerator_count,
                ),
                _("Set acceleratorType, or remove acceleratorCount."),
            )


@rule(Severity.ERROR, K80)
def accelerators_are_not_retired(submission: Submission) -> Iterator[Problem]:
    """The accelerator is still supported."""
    for index, pool in submission.pools:
        found = ACCELERATORS.get(pool.machine_spec.accelerator)
        if found is not None and found.retired_date is not None:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                _(
                    "Support for %(accelerator)s ended on %(date)s.",
                    accelerator=found.name,
                    date=found.retired_date.isoformat(),
                ),
                _("Use %(accelerator)s instead.", accelerator=found.replacement),
            )


@rule(Severity.ERROR, COMPUTE)
def accelerators_fit_the_machine(submission: Submission) -> Iterator[Problem]:
    """The machine takes this type and number of accelerators."""
    for index, spec, found in known_machines(submission):
        name, count = spec.accelerator, spec.accelerator_count
        retired = name in ACCELERATORS and ACCELERATORS[name].is_retired
        if not name or name not in ACCELERATORS or count < 1 or retired or found.takes(name, count):
            continue  # `unknown_value` is about an unknown accelerator
        allowed = sorted(found.attachable.get(name, ()))
        path = submission.pool_path(index, "machineSpec.acceleratorCount" if allowed else "machineSpec.acceleratorType")
        yield Problem(
            path,
            _(
                "%(machine)s does not take %(count)s × %(accelerator)s.",
                machine=found.machine_type,
                count=count,
                accelerator=quoted(name)[1:-1],
            ),
            _fit(found, name, allowed),
        )


def _fit(found: Machine, name: str, allowed: list[int]) -> str:
    if found.gpu_attach == "fixed" and found.gpu_type:
        return _("It always has %(count)s × %(accelerator)s.", count=found.gpu_count, accelerator=found.gpu_type)
    if found.is_tpu and not found.gpu_type and found.series != "cloud-tpu":
        return _("Leave acceleratorType out; tpuTopology already defines it.")
    if found.series == "cloud-tpu":
        return _("It takes TPU_V2 or TPU_V3: 8 cores, or a Pod of a multiple of 32.")
    if allowed:
        return _("It takes %(counts)s.", counts=", ".join(map(str, allowed)))
    carrier = next((kind for kind, other in MACHINES.items() if other.gpu_type == name and other.trainable), "")
    attaching = _("an N1 machine") if any(name in other.attachable for other in MACHINES.values()) else ""
    return (
        _("Use %(machine)s.", machine=carrier or attaching)
        if carrier or attaching
        else _("Choose one of the listed machine types.")
    )


@rule(Severity.NOTE, COMPUTE)
def fixed_accelerators_are_named(submission: Submission) -> Iterator[Problem]:
    """A machine that always carries GPUs still names them."""
    for index, spec, found in known_machines(submission):
        if found.gpu_attach == "fixed" and found.gpu_type and not spec.accelerator and not spec.accelerator_count:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                _(
                    "%(machine)s always has %(count)s × %(accelerator)s; the pages ask to name them.",
                    machine=found.machine_type,
                    count=found.gpu_count,
                    accelerator=found.gpu_type,
                ),
                _(
                    "Set acceleratorType: %(accelerator)s and acceleratorCount: %(count)s.",
                    accelerator=found.gpu_type,
                    count=found.gpu_count,
                ),
            )


@rule(Severity.APPROVAL, LOCATIONS)
def region_has_the_accelerator(submission: Submission) -> Iterator[Problem]:
    """The region is known to offer the accelerator for training, or a person confirmed it and Vertex AI decides."""
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
        remedy = (
            _("It is offered in %(regions)s.", regions=", ".join(elsewhere[:8]))
            if elsewhere
            else _("No region offers it for training.")
        )
        path = "machineSpec.acceleratorType" if spec.accelerator else "machineSpec.machineType"
        yield Problem(
            submission.pool_path(index, path),
            _(
                "%(region)s had no %(accelerator)s for training as of %(day)s; Vertex AI decides.",
                region=submission.region,
                accelerator=known.label,
                day=day_of(READ_DATE),
            ),
            remedy,
            confirmed_value("region", f"{submission.region} with {name}"),
        )


@rule(Severity.NOTE, LOCATIONS)
def accelerators_share_a_zone(submission: Submission) -> Iterator[Problem]:
    """Different GPUs in one job must all exist in one zone of the region."""
    kinds = {pool.machine_spec.accelerator for _, pool in submission.pools} - {""}
    if len(kinds) > 1:
        yield Problem(
            submission.spec_field("workerPoolSpecs"),
            _(
                "The pools use %(count)s kinds of accelerator, which must all exist in one zone of the region.",
                count=len(kinds),
            ),
            _("Use one kind, or check the zones of the region."),
        )


@rule(Severity.ERROR, API)
def gpu_partitions_count_one(submission: Submission) -> Iterator[Problem]:
    """A partition of a GPU is asked for with an accelerator count of 1."""
    for index, pool in submission.pools:
        spec = pool.machine_spec
        if spec.gpu_partition_size and spec.accelerator_count != 1:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorCount"),
                _("With gpuPartitionSize the count must be 1, not %(count)s.", count=spec.accelerator_count),
                _("Set acceleratorCount to 1, or remove gpuPartitionSize."),
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def gb200_comes_from_a_reservation(submission: Submission) -> Iterator[Problem]:
    """GB200 machines are available only from a shared reservation."""
    for index, spec, found in known_machines(submission):
        affinity = spec.reservation_affinity
        named = affinity is not None and affinity.reservation_affinity_type == "SPECIFIC_RESERVATION"
        if found.gpu_type == "NVIDIA_GB200" and not named and not submission.job_spec.persistent_resource_id:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("%(machine)s is available only from a shared reservation.", machine=found.machine_type),
                _("Name the reservation with SPECIFIC_RESERVATION."),
            )


RULES = (
    accelerator_has_type_and_count,
    accelerators_are_not_retired,
    accelerators_fit_the_machine,
    fixed_accelerators_are_named,
    region_has_the_accelerator,
    accelerators_share_a_zone,
    gpu_partitions_count_one,
    gb200_comes_from_a_reservation,
)
