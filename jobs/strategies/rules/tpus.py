"""Rules about TPUs: topologies, cores, Pods."""

from collections.abc import Iterator

from jobs.catalog import READ_DATE, Machine, machine
from jobs.spec import MachineSpec, Severity, Submission, quoted
from jobs.spec.unknown import confirmed_value, not_known
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.accelerators import POD_CORES
from jobs.strategies.rules.machines import known_machines
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import COMPUTE
from jobs.texts import translatable as _


def is_pod(spec: MachineSpec, found: Machine) -> bool:
    """Return whether a TPU request is a TPU Pod, which spans several machines."""
    if found.series == "cloud-tpu":
        return spec.accelerator_count > POD_CORES
    slice_ = found.topologies.get(spec.tpu_topology)
    return slice_ is not None and slice_.vms > 1


@rule(Severity.APPROVAL, COMPUTE)
def tpu_topology_is_known(submission: Submission) -> Iterator[Problem]:
    """A TPU machine has a topology that it is known to form, or a person confirmed it and Vertex AI decides."""
    for index, spec, found in known_machines(submission):
        name = spec.tpu_topology
        if not found.topologies or not name or name in found.topologies or is_placeholder(name):
            continue
        path = submission.pool_path(index, "machineSpec.tpuTopology")
        known = _("%(machine)s is known to form %(choices)s.", machine=found.machine_type,
                  choices=", ".join(found.topologies))  # fmt: skip
        confirm = confirmed_value(path, f"{name} of {found.machine_type}")
        yield Problem(path, not_known(name, READ_DATE), known, confirm)


@rule(Severity.ERROR, COMPUTE)
def tpu_topology_fits(submission: Submission) -> Iterator[Problem]:
    """A TPU machine has a topology, and no other machine has one."""
    for index, pool in submission.pools:
        spec = pool.machine_spec
        found = machine(spec.machine_type)
        path = submission.pool_path(index, "machineSpec.tpuTopology")
        if found is not None and found.topologies:
            if not spec.tpu_topology:
                message = _(
                    "%(machine)s needs a tpuTopology of its own, and none is given.", machine=found.machine_type
                )
                yield Problem(path, message, _("Choose %(choices)s.", choices=", ".join(found.topologies)))
        elif spec.tpu_topology and (found is not None or not spec.machine_type):
            yield Problem(
                path,
                _("%(machine)s has no TPU topology.", machine=quoted(spec.machine_type)),
                _("Remove tpuTopology or choose a TPU machine."),
            )


@rule(Severity.ERROR, COMPUTE)
def tpu_pools_have_one_replica(submission: Submission) -> Iterator[Problem]:
    """A pool of TPUs has one replica; its size is the topology or the number of cores."""
    for index, _spec, found in known_machines(submission):
        replicas = submission.job_spec.worker_pool_specs[index].replicas
        if found.is_tpu and replicas > 1:
            yield Problem(
                submission.pool_path(index, "replicaCount"),
                _("A TPU pool has one replica, not %(count)s; several machines are one slice.", count=replicas),
                _("Set it to 1 and choose a larger topology."),
            )


@rule(Severity.ERROR, COMPUTE)
def tpu_jobs_have_one_pool(submission: Submission) -> Iterator[Problem]:
    """A job on TPUs has one worker pool."""
    indexes = [index for index, _, found in known_machines(submission) if found.is_tpu]
    if indexes and len(submission.pools) > 1:
        yield Problem(
            submission.pool_path(indexes[0]),
            _("A job on TPUs has one worker pool, not %(count)s.", count=len(submission.pools)),
            _("Run the other pools as a job of their own."),
        )


@rule(Severity.ERROR, COMPUTE)
def cloud_tpu_names_its_cores(submission: Submission) -> Iterator[Problem]:
    """The machine cloud-tpu names its TPU and the number of cores."""
    for index, spec, found in known_machines(submission):
        if found.series == "cloud-tpu" and not spec.accelerator and not spec.accelerator_count:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                _("cloud-tpu needs an accelerator type and a number of cores."),
                _("Set TPU_V2 or TPU_V3, and 8 cores or a multiple of 32."),
            )


RULES = (
    tpu_topology_is_known,
    tpu_topology_fits,
    tpu_pools_have_one_replica,
    tpu_jobs_have_one_pool,
    cloud_tpu_names_its_cores,
)
