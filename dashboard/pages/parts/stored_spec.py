"""What pages read from a job's stored REST body, for every kind of job."""

from jobs.models import Job
from jobs.spec.body import custom_job_spec

MAX_LANES = 8
"""Maximum replicas drawn. The others share the job's state."""


def replica_names(job: Job) -> list[str]:
    """Return the names of the first replicas in Vertex AI's logs: workerpool0-0, workerpool1-0, workerpool1-1."""
    names: list[str] = []
    for index, pool in enumerate(custom_job_spec(job.spec).get("workerPoolSpecs", [])):
        count = int(pool.get("replicaCount", 1)) if pool else 0
        names += [f"workerpool{index}-{number}" for number in range(min(count, MAX_LANES))]
    return names[:MAX_LANES]
