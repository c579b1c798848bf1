"""The names that Vertex AI gives to a job's replicas, read from its spec."""

from typing import Any

from dashboard.access import Job

MOST_LANES = 8
"""More replicas than this are not drawn one by one; they share their state anyway."""


def pools_of(job: Job) -> list[dict[str, Any]]:
    """Return the worker pools of the stored REST body, whatever the kind of job; an empty list for a broken one."""
    body = job.spec.get("trainingTaskInputs") or job.spec
    spec = body.get("jobSpec") or body.get("trialJobSpec") or body
    pools = spec.get("workerPoolSpecs", []) if isinstance(spec, dict) else []
    return [pool for pool in pools if isinstance(pool, dict)]


def replica_names(job: Job) -> list[str]:
    """Return the first replicas as Vertex AI's logs call them: workerpool0-0, workerpool1-0, workerpool1-1."""
    names = []
    for index, pool in enumerate(pools_of(job)):
        if pool:
            names += [f"workerpool{index}-{number}" for number in range(int(pool.get("replicaCount", 1)))][:MOST_LANES]
    return names[:MOST_LANES]
