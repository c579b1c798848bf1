"""What a persistent resource has, who of us holds how much of it, and how much is free. Read only; asks no database."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs import spec
from jobs.models import Job, Pool
from jobs.spec import ResourcePool, Submission
from jobs.states import RUNNING, WAITING_AT_VERTEX
from jobs.strategies import KnownResource
from jobs.strategies.fit import replicas_on

Key = tuple[str, str, str]
"""Project, region and id of a persistent resource."""
BEARABLE = frozenset({"unknown_field", "unknown_value"})
"""What may be found in a resource that is newer than our mirror of it, and leaves the rest readable."""


@dataclass(slots=True)
class Holding:
    """One persistent resource as it was last seen, with the jobs of ours on it.

    `known` is None where its body cannot be read. `running` have replicas, `waiting` are at Vertex AI without them;
    the figures are replicas for each of its pools, by their index.
    """

    pool: Pool
    known: KnownResource | None
    running: dict[Job, Mapping[int, int]] = field(default_factory=dict)
    waiting: list[Job] = field(default_factory=list)

    @property
    def parts(self) -> tuple[ResourcePool, ...]:
        """Its pools."""
        return self.known.resource.resource_pools if self.known is not None else ()

    def used(self, index: int) -> int:
        """Return how many replicas of a pool are lent, as Vertex AI counts them."""
        return self.parts[index].used_replica_count

    def free(self, index: int) -> int:
        """Return how many replicas a pool can still lend, those that it may grow by included."""
        return max(0, self.parts[index].most_replicas - self.used(index))

    def wanted(self, job: Job) -> Mapping[int, int]:
        """Return how many replicas of which pool a job asks for; {} where that cannot be told."""
        submission = submission_of(job)
        return replicas_on(submission, self.known) if submission is not None and self.known is not None else {}


def known_resource(pool: Pool) -> KnownResource | None:
    """Return a row as the rules know it; None where its body does not say soundly what the resource has."""
    resource, findings = spec.read("persistent_resource", pool.body)
    if resource is None or any(finding.code not in BEARABLE for finding in findings):
        return None
    return KnownResource(pool.resource_id, pool.project, pool.region, resource)


def holdings(pools: Iterable[Pool], jobs: Iterable[Job]) -> dict[Key, Holding]:
    """Put jobs that are on persistent resources, or wait for them, to the resources that they name."""
    found = {(pool.project, pool.region, pool.resource_id): Holding(pool, known_resource(pool)) for pool in pools}
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
    body = job.spec
    for name in ("trainingTaskInputs", "jobSpec", "trialJobSpec"):
        inner = body.get(name) if isinstance(body, dict) else None
        body = inner if isinstance(inner, dict) else body
    found = body.get("persistentResourceId") if isinstance(body, dict) else None
    return found if isinstance(found, str) else ""


def submission_of(job: Job) -> Submission | None:
    """Read what a job asked for; None where its spec cannot be read."""
    body, _ = spec.read(job.kind, job.spec)
    return Submission(kind=job.kind, project=job.project, region=job.region, job=body) if body is not None else None
