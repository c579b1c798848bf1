"""Rules of TPUs: topologies, cores, Pods."""

from collections.abc import Iterator

from jobs.catalog import Machine, machine
from jobs.spec import MachineSpec, Severity, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.machines import POD_CORES, known_machines
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import COMPUTE


def is_pod(spec: MachineSpec, found: Machine) -> bool:
    """Tell whether a TPU request spans several machines, which is what a TPU Pod is."""
    if found.series == "cloud-tpu":
        return spec.accelerator_count > POD_CORES
    slice_ = found.topologies.get(spec.tpu_topology)
    return slice_ is not None and slice_.vms > 1


@rule(Severity.ERROR, COMPUTE)
def tpu_topology_fits(submission: Submission) -> Iterator[Problem]:
    """A TPU machine has a topology that it can form, and no other machine has one."""
    for index, pool in submission.pools:
        spec = pool.machine_spec
        found = machine(spec.machine_type)
        path = submission.pool_path(index, "machineSpec.tpuTopology")
        if found is not None and found.topologies:
            if spec.tpu_topology not in found.topologies and not is_placeholder(spec.tpu_topology):
                given = f"not {quoted(spec.tpu_topology)}" if spec.tpu_topology else "and none is given"
                choices = ", ".join(found.topologies)
                yield Problem(
                    path, f"{found.machine_type} needs a tpuTopology of its own, {given}.", f"Choose {choices}."
                )
        elif spec.tpu_topology and (found is not None or not spec.machine_type):
            yield Problem(
                path, f"{quoted(spec.machine_type)} has no TPU topology.", "Remove tpuTopology or choose a TPU machine."
            )


@rule(Severity.ERROR, COMPUTE)
def tpu_pools_have_one_replica(submission: Submission) -> Iterator[Problem]:
    """A pool of TPUs has one replica; its size is the topology or the number of cores."""
    for index, _, found in known_machines(submission):
        replicas = submission.job_spec.worker_pool_specs[index].replicas
        if found.is_tpu and replicas > 1:
            yield Problem(
                submission.pool_path(index, "replicaCount"),
                f"A TPU pool has one replica, not {replicas}; several machines are one slice.",
                "Set it to 1 and choose a larger topology.",
            )


@rule(Severity.ERROR, COMPUTE)
def tpu_jobs_have_one_pool(submission: Submission) -> Iterator[Problem]:
    """A job on TPUs has one worker pool."""
    indexes = [index for index, _, found in known_machines(submission) if found.is_tpu]
    if indexes and len(submission.pools) > 1:
        yield Problem(
            submission.pool_path(indexes[0]),
            f"A job on TPUs has one worker pool, not {len(submission.pools)}.",
            "Run the other pools as a job of their own.",
        )


@rule(Severity.ERROR, COMPUTE)
def cloud_tpu_names_its_cores(submission: Submission) -> Iterator[Problem]:
    """The machine cloud-tpu says which TPU and how many cores."""
    for index, spec, found in known_machines(submission):
        if found.series == "cloud-tpu" and not spec.accelerator and not spec.accelerator_count:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                "cloud-tpu needs an accelerator type and a number of cores.",
                "Set TPU_V2 or TPU_V3, and 8 cores or a multiple of 32.",
            )


RULES = (
    tpu_topology_fits,
    tpu_pools_have_one_replica,
    tpu_jobs_have_one_pool,
    cloud_tpu_names_its_cores,
)
