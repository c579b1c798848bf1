"""The replicas of a persistent resource: how many our jobs use, and how many are free. Makes no query."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs import spec
from jobs.models import Job, PersistentResource
from jobs.spec import ResourcePool, Submission
from jobs.spec.body import custom_job_spec
from jobs.states import RUNNING, WAITING_AT_VERTEX
from jobs.strategies import KnownResource
from jobs.strategies.resource_fit import count_replicas

Key = tuple[str, str, str]
"""Project, region and id of a persistent resource."""


@dataclass(slots=True)
class Holding:
    """One persistent resource as last seen, with our jobs on it.

    `known` is None if its body cannot be read. `running` jobs have replicas; `waiting` jobs are at Vertex AI without
    them. The numbers are replicas of each resource pool, by its index.
    """

    resource: PersistentResource
    known: KnownResource | None
    running: dict[Job, Mapping[int, int]] = field(default_factory=dict)
    waiting: list[Job] = field(default_factory=list)

    @property
    def resource_pools(self) -> tuple[ResourcePool, ...]:
        """Its resource pools, or () if its body cannot be read."""
        return self.known.resource.resource_pools if self.known is not None else ()

    def used(self, index: int) -> int:
        """Return how many replicas of a resource pool are in use, as Vertex AI counts them."""
        return self.resource_pools[index].used_replica_count

    def free(self, index: int) -> int:
        """Return how many replicas of a resource pool are free, including those by which it may grow."""
        return max(0, self.resource_pools[index].most_replicas - self.used(index))

    def wanted(self, job: Job) -> Mapping[int, int]:
        """Return how many replicas of which resource pool a job requests, or {} if the body cannot be read."""
        submission = find_submission(job)
        return count_replicas(submission, self.known) if submission is not None and self.known is not None else {}


def known_resource(row: PersistentResource) -> KnownResource | None:
    """Return a row as the rules need it, or None if its body cannot be read."""
    resource, findings = spec.read("persistent_resource", row.body)
    if resource is None or findings:
        return None
    return KnownResource(row.resource_id, row.project, row.region, resource)


def holdings(resources: Iterable[PersistentResource], jobs: Iterable[Job]) -> dict[Key, Holding]:
    """Assign jobs that are on persistent resources, or wait for them, to the resources they name."""
    found = {(row.project, row.region, row.resource_id): Holding(row, known_resource(row)) for row in resources}
    for job in jobs:
        held = found.get((job.project, job.region, resource_id_of(job)))
        if held is None:
            continue
        if job.state in RUNNING:
            held.running[job] = held.wanted(job)
        elif job.state in WAITING_AT_VERTEX:
            held.waiting.append(job)
    return found


def resource_id_of(job: Job) -> str:
    """Return the id of the persistent resource that a job names, or "". It reads only that field, for lists of jobs."""
    found = custom_job_spec(job.spec).get("persistentResourceId")
    return found if isinstance(found, str) else ""


def find_submission(job: Job) -> Submission | None:
    """Return the submission of a job, or None if its spec cannot be read."""
    return spec.find_submission(job.kind, job.spec, project=job.project, region=job.region)
