"""What pages read from a job's stored REST body, whatever its kind, without judging it again."""

from typing import Any

from dashboard.access import Job

MOST_LANES = 8
"""More replicas than this are not drawn one by one; they share their state anyway."""


def spec_of(job: Job) -> dict[str, Any]:
    """Return the CustomJobSpec of the body: a custom job's, a trial's, or a pipeline's task inputs; {} for none."""
    body = job.spec.get("trainingTaskInputs") or job.spec
    spec = body.get("jobSpec") or body.get("trialJobSpec") or body
    return spec if isinstance(spec, dict) else {}


def replica_names(job: Job) -> list[str]:
    """Return the first replicas as Vertex AI's logs call them: workerpool0-0, workerpool1-0, workerpool1-1."""
    names: list[str] = []
    for index, pool in enumerate(spec_of(job).get("workerPoolSpecs", [])):
        count = int(pool.get("replicaCount", 1)) if pool else 0
        names += [f"workerpool{index}-{number}" for number in range(min(count, MOST_LANES))]
    return names[:MOST_LANES]
