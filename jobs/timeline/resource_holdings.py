"""What a persistent resource has, who of us holds how much of it, and how much is free. Read only; asks no database."""

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
BEARABLE = frozenset({"unknown_field", "unknown_value"})
"""What may be found in a resource that is newer than our mirror of it, and leaves the rest readable."""


@dataclass(slots=True)
class Holding:
    """One persistent resource as it was last seen, with the jobs of ours on it.

    `known` is None where its body cannot be read. `running` have replicas, `waiting` are at Vertex AI without them;
    the figures are replicas for each of its resource pools, by their index.
    """

    resource: PersistentResource
    known: KnownResource | None
    running: dict[Job, Mapping[int, int]] = field(default_factory=dict)
    waiting: list[Job] = field(default_factory=list)

    @property
    def resource_pools(self) -> tuple[ResourcePool, ...]:
        """Its resource pools; none where its body cannot be read."""
        return self.known.resource.resource_pools if self.known is not None else ()

    def used(self, index: int) -> int:
        """Return how many replicas of a resource pool are in use, as Vertex AI counts them."""
        return self.resource_pools[index].used_replica_count

    def free(self, index: int) -> int:
        """Return how many replicas a resource pool has left, counting those that it may grow by."""
        return max(0, self.resource_pools[index].most_replicas - self.used(index))

    def wanted(self, job: Job) -> Mapping[int, int]:
        """Return how many replicas of which resource pool a job asks for; {} where its body cannot be read."""
        submission = find_submission(job)
        return count_replicas(submission, self.known) if submission is not None and self.known is not None else {}


def known_resource(row: PersistentResource) -> KnownResource | None:
    """Return a row as the rules know it; None where its body cannot be read."""
    resource, findings = spec.read("persistent_resource", row.body)
    if resource is None or any(finding.code not in BEARABLE for finding in findings):
        return None
    return KnownResource(row.resource_id, row.project, row.region, resource)


def holdings(resources: Iterable[PersistentResource], jobs: Iterable[Job]) -> dict[Key, Holding]:
    """Put jobs that are on persistent resources, or wait for them, to the resources that they name."""
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
    """Return the persistent resource that a job names, "" for none; looks only where it stands, for lists of jobs."""
    found = custom_job_spec(job.spec).get("persistentResourceId")
    return found if isinstance(found, str) else ""


def find_submission(job: Job) -> Submission | None:
    """Read what a job asked for; None where its spec cannot be read."""
    return spec.find_submission(job.kind, job.spec, project=job.project, region=job.region)
