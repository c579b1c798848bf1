"""Load the known persistent resources of a project and region for the rules, with the replicas in use.

Vertex AI reports the replicas that running jobs hold at the time of the poll. Jobs of ours that were sent after it, or
are about to be sent, are missing from that count and will get their replicas first, so they are added. Jobs that have
waited at Vertex AI for longer hold nothing and are not counted.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs.models import Job, PersistentResource, ResourceChange
from jobs.spec import Finding, Submission
from jobs.states import RUNNING, WAITING, JobState
from jobs.strategies import Known, KnownResource
from jobs.strategies.persistent import STRATEGY, resource_is_running
from jobs.strategies.resource_fit import count_replicas
from jobs.timeline.resource_holdings import find_submission, known_resource

ON_THE_WAY = frozenset({JobState.APPROVED, JobState.SUBMITTING})
PASSING = frozenset({"PROVISIONING", "REBOOTING", "UPDATING"})
"""States that change to RUNNING by themselves."""
Value = str | datetime | OuterRef


def known_resources(submission: Submission, *, apart_from: UUID | None = None) -> Known:
    """Return the resources known where a submission is to run. Return () without a query if it names none.

    `apart_from` is the submission's own job, if it has one, whose replicas are not counted.
    """
    if not submission.job_spec.persistent_resource_id:
        return ()
    return resources_in(submission.project, submission.region, apart_from=apart_from)


def resources_in(project: str, region: str, *, apart_from: UUID | None = None) -> Known:
    """Return the persistent resources of a project and region.

    Makes one query, and another one if jobs are newer than the last poll.
    """
    if not (project and region and f"{project}{region}".isprintable()):  # a form accepts any text as a region
        return ()
    newer = _newer_jobs(OuterRef("project"), OuterRef("region"), OuterRef("seen_at"), apart_from)
    rows = PersistentResource.objects.existing().filter(project=project, region=region)
    rows = rows.annotate(has_newer=Exists(newer), is_counted=Exists(_made_here())).order_by("resource_id")
    found = [(row, _add_origin(row, known)) for row in rows if (known := known_resource(row)) is not None]
    stale = [row.seen_at for row, _ in found if getattr(row, "has_newer", False)]
    jobs = list(_newer_jobs(project, region, min(stale), apart_from)) if stale else []
    return tuple(_add_newer_jobs(row, known, jobs) if jobs else known for row, known in found)


def _made_here() -> QuerySet[ResourceChange]:
    """Return the changes by which ceilings count a resource: it was created here, or made larger."""
    place = {name: OuterRef(name) for name in ("project", "region", "resource_id")}
    made = ResourceChange.objects.filter(**place, allowed_at__isnull=False).exclude(outcome="refused")
    return made.filter(Q(action=ResourceChange.Action.CREATE) | Q(action=ResourceChange.Action.RESIZE) & ~Q(needs=[]))


def _add_origin(row: PersistentResource, known: KnownResource) -> KnownResource:
    return replace(known, is_counted=bool(getattr(row, "is_counted", False)))


def waits_for_resource(submission: Submission, resources: Known, refused: Sequence[Finding]) -> bool:
    """Return whether a job is refused only because its resource is still changing to RUNNING, so that waiting helps."""
    if [finding.code for finding in refused] != [resource_is_running.code]:
        return False
    name = submission.job_spec.persistent_resource_id
    return any(known.resource_id == name and known.resource.state in PASSING for known in resources)


def _newer_jobs(project: Value, region: Value, since: Value, apart_from: UUID | None) -> QuerySet[Job]:
    """Return the jobs on persistent resources of a region that Vertex AI did not have yet at `since`."""
    place = {"project": project, "region": region}
    using = Job.objects.unfinished().filter(**place, strategy=STRATEGY.key, state__in=WAITING | RUNNING)
    newer = using.filter(Q(state__in=ON_THE_WAY) | Q(submitted_at__gt=since))
    return newer if apart_from is None else newer.exclude(pk=apart_from)


def _add_newer_jobs(row: PersistentResource, known: KnownResource, jobs: Iterable[Job]) -> KnownResource:
    """Add the replicas that newer jobs request to Vertex AI's count, up to the size of each resource pool."""
    wanted: Counter[int] = Counter()
    for job in jobs:
        is_newer = job.state in ON_THE_WAY or (job.submitted_at is not None and job.submitted_at > row.seen_at)
        submission = find_submission(job) if is_newer else None
        if submission is not None and submission.job_spec.persistent_resource_id == row.resource_id:
            wanted.update(count_replicas(submission, known))
    parts = known.resource.resource_pools
    in_use = (min(part.most_replicas, known.used(at) + wanted[at]) for at, part in enumerate(parts))
    return replace(known, in_use=tuple(in_use))
