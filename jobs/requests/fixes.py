"""Apply a suggestion of a diagnosis to a copy of the job: each fix changes one thing and describes it. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from jobs.catalog import MACHINES, MAX_DISK_GB, REGIONS, Machine, accelerators_in, machine, trainable
from jobs.spec import MachineSpec, Submission, WorkerPoolSpec
from jobs.spec.worker_pool import ContainerSpec, PythonPackageSpec
from jobs.strategies import STRATEGIES, max_wait, strategy_of
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT

Fix = Callable[[Submission, Mapping[str, Any]], tuple[Submission, str]]
LARGER_DISK_GB = 200
GPUS = tuple(f"NVIDIA_{name}" for name in "TESLA_T4 L4 TESLA_A100 A100_80GB H100_80GB H200_141GB B200".split())
"""GPUs by the memory of one: 16, 24, 40, 80, 80, 141 and 180 GB (Compute Engine documentation, "GPU machine types")."""
NOTHING = "Nothing fitting was found, so it is unchanged."


def apply_fix(submission: Submission, suggestion: Mapping[str, Any]) -> tuple[Submission, str]:
    """Return the submission with the change of a suggestion, and a description of the change."""
    fix = FIXES.get(str(suggestion.get("action")))
    return fix(submission, suggestion) if fix else (submission, "")


def next_machine_size(submission: Submission, suggestion: Mapping[str, Any]) -> tuple[Submission, str]:
    """Give the pools that ran out of memory the next larger machine of their series."""
    wanted = {str(name).removeprefix("workerpool") for name in suggestion.get("pools", ())}

    def larger(index: int, pool: WorkerPoolSpec) -> MachineSpec | None:
        if wanted and str(index) not in wanted:
            return None
        now = machine(pool.machine_spec.machine_type)
        found = _next_size(now, pool.machine_spec) if now else None
        return _with(pool.machine_spec, found) if found else None

    return _with_machines(submission, larger)


def _next_size(now: Machine, spec: MachineSpec) -> Machine | None:
    """Return the machine of the series with the next larger memory that can attach the same accelerators."""
    series = [found for found in map(MACHINES.__getitem__, trainable()) if found.series == now.series]
    larger = [
        found
        for found in series
        if (found.memory_gib or 0) > (now.memory_gib or 0)
        and found.gpu_type == now.gpu_type
        and (now.gpu_attach == "fixed" or not spec.accelerator or found.takes(spec.accelerator, spec.accelerator_count))
    ]
    return min(larger, key=lambda found: (found.memory_gib or 0, found.vcpu or 0, found.machine_type), default=None)


def bigger_gpu(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Give every pool the next GPU with more memory that the region has."""
    return _with_machines(submission, lambda _, pool: _other_gpu(submission.region, pool.machine_spec, smaller=False))


def other_accelerator(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Give every pool another GPU that the region has: the next larger, else the next smaller one."""
    return _with_machines(submission, lambda _, pool: _other_gpu(submission.region, pool.machine_spec, smaller=True))


def _other_gpu(region: str, spec: MachineSpec, *, smaller: bool) -> MachineSpec | None:
    now = machine(spec.machine_type)
    gpu = (now.fixed_accelerator if now else "") or spec.accelerator
    if gpu not in GPUS:
        return None
    at, count = GPUS.index(gpu), spec.accelerator_count or (now.gpu_count if now else 0) or 1
    for name in (*GPUS[at + 1 :], *(reversed(GPUS[:at]) if smaller else ())):
        fits = [MACHINES[kind] for kind in trainable() if MACHINES[kind].gpu_type == name]
        fits = [found for found in fits if found.gpu_count >= count] if name in accelerators_in(region) else []
        if fits:
            return _with(spec, min(fits, key=lambda found: (found.gpu_count, found.vcpu or 0)))
    return None


def _with(spec: MachineSpec, found: Machine) -> MachineSpec:
    """Return the machine spec with another machine; fixed accelerators are named, attached ones are kept."""
    if found.gpu_attach == "fixed" and found.gpu_type:
        kept = {"accelerator_type": found.gpu_type, "accelerator_count": found.gpu_count}
        return spec.but(machine_type=found.machine_type, **kept)
    return spec.but(machine_type=found.machine_type)


def _with_machines(
    submission: Submission, change: Callable[[int, WorkerPoolSpec], MachineSpec | None]
) -> tuple[Submission, str]:
    changes = {index: new for index, pool in submission.pools if (new := change(index, pool)) is not None}
    if not changes:
        return submission, NOTHING
    before = submission.job_spec.worker_pool_specs
    pools = tuple(
        pool.but(machine_spec=changes.get(i, pool.machine_spec)) if i in changes else pool
        for i, pool in enumerate(before)
    )
    words = [
        f"worker pool {i} has {new.machine_type} instead of {before[i].machine_spec.machine_type}"
        for i, new in changes.items()
    ]
    return _with_pools(submission, pools), f"Changed: {', '.join(words)}."


def _with_pools(submission: Submission, pools: tuple[WorkerPoolSpec, ...]) -> Submission:
    return submission.with_job_spec(submission.job_spec.but(worker_pool_specs=pools))


def more_disk(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Double the boot disks."""
    pools, sizes = [], []
    for pool in submission.job_spec.worker_pool_specs:
        if pool.is_empty:
            pools.append(pool)
            continue
        sizes.append(min(MAX_DISK_GB, max(LARGER_DISK_GB, 2 * pool.disk_spec.size_gb)))
        pools.append(pool.but(disk_spec=pool.disk_spec.but(boot_disk_size_gb=sizes[-1])))
    if not sizes:
        return submission, NOTHING
    words = " and ".join(f"{size} GB" for size in dict.fromkeys(sizes))
    return _with_pools(submission, tuple(pools)), f"Changed: boot disks of {words}."


def other_region(submission: Submission, suggestion: Mapping[str, Any]) -> tuple[Submission, str]:
    """Choose another region that has the job's accelerators, on the same continent if possible."""
    avoid = {submission.region, str(suggestion.get("avoid", ""))}
    wanted = {name for _, pool in submission.pools if (name := _accelerator(pool.machine_spec))}
    found = [name for name in REGIONS if name not in avoid and wanted <= accelerators_in(name)]
    if not found:
        return submission, NOTHING
    near = submission.region.partition("-")[0]
    region = min(found, key=lambda name: (name.partition("-")[0] != near, name))
    return replace(submission, region=region), f"Changed: it runs in {region} instead of {submission.region}."


def _accelerator(spec: MachineSpec) -> str:
    known = machine(spec.machine_type)
    return (known.fixed_accelerator if known else "") or spec.accelerator


def flex_start(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Use Flex-start, which waits for the machines."""
    return STRATEGIES["flex_start"].apply(submission), "Changed: Flex-start waits for its machines."


def spot(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Use Spot machines, which may be available when others are not."""
    return _if_changed(submission, STRATEGIES["spot"].apply(submission), "it asks for Spot machines.")


def standard(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Use on-demand machines, which are not preempted."""
    return _if_changed(submission, STRATEGIES["standard"].apply(submission), "it asks for machines on demand.")


def own_machines(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Run on the job's own machines instead of a persistent resource."""
    if not submission.job_spec.persistent_resource_id:
        return submission, NOTHING
    return STRATEGIES["standard"].apply(submission), "Changed: it runs on machines of its own."


def _if_changed(before: Submission, after: Submission, words: str) -> tuple[Submission, str]:
    return (after, f"Changed: {words}") if after != before else (before, NOTHING)


def longer_wait(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Double the time that Flex-start waits for machines; an unlimited wait is not changed."""
    wait = max_wait(STRATEGIES["flex_start"].apply(submission))
    if not wait:
        return submission, NOTHING
    doubled = 2 * wait
    return _with_wait(submission, doubled), f"Changed: it waits up to {doubled / timedelta(hours=1):g} hours."


def endless_wait(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Let Flex-start wait for machines without limit (maxWaitDuration 0)."""
    return _if_changed(submission, _with_wait(submission, timedelta()), "it waits for its machines without end.")


def _with_wait(submission: Submission, wait: timedelta) -> Submission:
    """Return the submission under Flex-start, the only strategy with maxWaitDuration, with that wait."""
    flexible = STRATEGIES["flex_start"].apply(submission)
    spec = flexible.job_spec
    return flexible.with_job_spec(spec.but(scheduling=spec.scheduling.but(max_wait_duration=wait)))


def longer_timeout(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Double the timeout, up to the limit of the strategy."""
    spec, most = submission.job_spec, strategy_of(submission).longest_run
    timeout = 2 * (spec.scheduling.timeout or DEFAULT_TIMEOUT)
    timeout = min(timeout, most) if most is not None else timeout
    changed = spec.but(scheduling=spec.scheduling.but(timeout=timeout))
    hours = f"{timeout / timedelta(hours=1):g}"
    return submission.with_job_spec(changed), f"Changed: it is stopped after {hours} hours."


def gcs_path(submission: Submission, _: Mapping[str, Any]) -> tuple[Submission, str]:
    """Write /gcs/BUCKET for gs://BUCKET in commands and arguments: Vertex AI mounts all buckets there."""
    names = ("container_spec", "python_package_spec")
    pools = tuple(
        pool.but(**{name: _mounted(program) for name in names if (program := getattr(pool, name)) is not None})
        for pool in submission.job_spec.worker_pool_specs
    )
    return _if_changed(submission, _with_pools(submission, pools), "arguments name /gcs/ instead of gs://.")


def _mounted(program: ContainerSpec | PythonPackageSpec) -> ContainerSpec | PythonPackageSpec:
    words = {name: given for name in ("args", "command") if (given := getattr(program, name, ()))}
    return program.but(
        **{name: tuple(word.replace("gs://", "/gcs/") for word in given) for name, given in words.items()}
    )


FIXES: Mapping[str, Fix] = {
    found.__name__: found for found in (
        next_machine_size, bigger_gpu, other_accelerator, more_disk, other_region, flex_start, spot, standard,
        own_machines, longer_wait, endless_wait, longer_timeout, gcs_path,
    )
}  # fmt: skip
"""Functions by the action of a suggestion. Other actions change nothing, so a plain copy of the job serves them."""
