"""How a job fits a persistent resource: the resource pool of each worker pool, and the replicas it takes."""

from collections import Counter

from jobs.spec import DiskSpec, MachineSpec, ResourcePool, Submission, WorkerPoolSpec
from jobs.strategies.base import Known, KnownResource

DEFAULT_DISK = "pd-ssd"


def find_named(submission: Submission, known: Known) -> KnownResource | None:
    """Return the known resource that the submission names, or None."""
    name = submission.job_spec.persistent_resource_id.rpartition("/")[2]
    for found in known:
        here = (found.project, found.region) == (submission.project, submission.region)
        if found.resource_id == name and here:
            return found
    return None


def same_machine(job: MachineSpec, pool: MachineSpec) -> bool:
    """Return whether two machines are equal in every field that Vertex AI compares."""
    return (job.machine_type, job.accelerator, job.accelerator_count, job.tpu_topology, job.gpu_partition_size) == (
        pool.machine_type,
        pool.accelerator,
        pool.accelerator_count,
        pool.tpu_topology,
        pool.gpu_partition_size,
    )


def _same_disk(job: DiskSpec, pool: DiskSpec) -> bool:
    """Return whether two disks are equal, defaults applied; a missing type may be the other's default."""
    types = {disk.boot_disk_type for disk in (job, pool)}
    same_type = len(types) == 1 or ("" in types and types <= {"", DEFAULT_DISK, "pd-standard"})
    return same_type and job.size_gb == pool.size_gb


def match(pool: WorkerPoolSpec, resource: KnownResource) -> int | None:
    """Return the index of the resource pool that a worker pool matches exactly, or None."""
    for index, found in enumerate(resource.resource.resource_pools):
        if same_machine(pool.machine_spec, found.machine_spec) and _same_disk(pool.disk_spec, found.disk_spec):
            return index
    return None


def describe_pool(pool: ResourcePool) -> str:
    """Return the machine and disk of a pool in words."""
    machine, disk = pool.machine_spec, pool.disk_spec
    gpus = f" with {machine.accelerator_count} × {machine.accelerator}" if machine.accelerator else ""
    return f"{machine.machine_type}{gpus}, {disk.boot_disk_type or DEFAULT_DISK} {disk.size_gb} GB"


def count_wanted(submission: Submission, resource: KnownResource) -> dict[int, tuple[int, int]]:
    """Return `{resource pool: (total replicas wanted, last worker pool that wants them)}`."""
    counts: Counter[int] = Counter()
    last: dict[int, int] = {}
    for index, pool in submission.pools:
        at = match(pool, resource)
        if at is not None:
            counts[at] += pool.replicas * submission.parallel_trials
            last[at] = index
    return {at: (count, last[at]) for at, count in counts.items()}


def find_added(submission: Submission, known: Known) -> list[tuple[WorkerPoolSpec, int]]:
    """Return the machines, with their number, by which a job may make its persistent resource grow uncounted.

    A resource that was made here counts at its largest; one that was made elsewhere and is autoscaled grows for jobs,
    and so may one that was not seen yet. What it has now may be gone or held by others when the job starts, so its
    smallest size is what it does not add.
    """
    pools, resource = dict(submission.pools), find_named(submission, known)
    if resource is None and submission.job_spec.persistent_resource_id:
        return [(pool, max(0, pool.replicas) * submission.parallel_trials) for pool in pools.values()]
    if resource is None or resource.is_counted:
        return []
    found = []
    for at, (count, index) in count_wanted(submission, resource).items():
        pool = resource.resource.resource_pools[at]
        if (scaling := pool.autoscaling_spec) is not None:
            most = max(0, pool.most_replicas - (scaling.min_replica_count or 0))
            found.append((pools[index], min(count, most)))
    return found


def count_replicas(submission: Submission, resource: KnownResource) -> dict[int, int]:
    """Return `{index of a resource pool: replicas that the job takes}`; worker pools without a match are left out."""
    return {at: count for at, (count, _) in count_wanted(submission, resource).items()}
