"""The persistent resources that are known in a project and region, for the rules: what is there and what is held.

Vertex AI counts the replicas that running jobs hold, as of the moment when it was asked. Jobs of ours that were sent
since then, or are about to be, are not in its count and will have their replicas first, so they are added to it. Jobs
that wait at Vertex AI for longer hold nothing and are not counted.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs.models import Job, PersistentResource
from jobs.spec import Finding, Submission
from jobs.states import RUNNING, WAITING, JobState
from jobs.strategies import Known, KnownResource
from jobs.strategies.persistent import STRATEGY, resource_is_running
from jobs.strategies.resource_fit import count_replicas
from jobs.timeline.resource_holdings import find_submission, known_resource

ON_THE_WAY = frozenset({JobState.APPROVED, JobState.SUBMITTING})
PASSING = frozenset({"PROVISIONING", "REBOOTING", "UPDATING"})
"""States that lead to RUNNING by themselves."""
Value = str | datetime | OuterRef


def known_resources(submission: Submission, *, apart_from: UUID | None = None) -> Known:
    """Return what is known where a submission is to run; () without a query when it names no persistent resource.

    `apart_from` is the job of the submission itself, where it has one: it does not stand in its own way.
    """
    if not submission.job_spec.persistent_resource_id:
        return ()
    return resources_in(submission.project, submission.region, apart_from=apart_from)


def resources_in(project: str, region: str, *, apart_from: UUID | None = None) -> Known:
    """Return the persistent resources of a place. One query, and one more while jobs are newer than what is known."""
    if not (project and region and f"{project}{region}".isprintable()):  # a form takes any text for a region
        return ()
    newer = _newer_jobs(OuterRef("project"), OuterRef("region"), OuterRef("seen_at"), apart_from)
    rows = (
        PersistentResource.objects.existing().filter(project=project, region=region).annotate(has_newer=Exists(newer))
    )
    rows = rows.order_by("resource_id")
    found = [(row, known) for row in rows if (known := known_resource(row)) is not None]
    stale = [row.seen_at for row, _ in found if getattr(row, "has_newer", False)]
    jobs = list(_newer_jobs(project, region, min(stale), apart_from)) if stale else []
    return tuple(_add_newer_jobs(row, known, jobs) if jobs else known for row, known in found)


def waits_for_resource(submission: Submission, resources: Known, refused: Sequence[Finding]) -> bool:
    """Return whether a job is refused only because its resource is on the way to RUNNING, so that waiting helps."""
    if [finding.code for finding in refused] != [resource_is_running.code]:
        return False
    name = submission.job_spec.persistent_resource_id
    return any(known.resource_id == name and known.resource.state in PASSING for known in resources)


def _newer_jobs(project: Value, region: Value, since: Value, apart_from: UUID | None) -> QuerySet[Job]:
    """Return the jobs on persistent resources of a place that Vertex AI did not have yet at a moment."""
    place = {"project": project, "region": region}
    using = Job.objects.unfinished().filter(**place, strategy=STRATEGY.key, state__in=WAITING | RUNNING)
    newer = using.filter(Q(state__in=ON_THE_WAY) | Q(submitted_at__gt=since))
    return newer if apart_from is None else newer.exclude(pk=apart_from)


def _add_newer_jobs(row: PersistentResource, known: KnownResource, jobs: Iterable[Job]) -> KnownResource:
    """Add to Vertex AI's count what jobs that are newer than it ask for; no more than there is."""
    wanted: Counter[int] = Counter()
    for job in jobs:
        is_newer = job.state in ON_THE_WAY or (job.submitted_at is not None and job.submitted_at > row.seen_at)
        submission = find_submission(job) if is_newer else None
        if submission is not None and submission.job_spec.persistent_resource_id == row.resource_id:
            wanted.update(count_replicas(submission, known))
    parts = known.resource.resource_pools
    in_use = (min(part.most_replicas, known.used(at) + wanted[at]) for at, part in enumerate(parts))
    return replace(known, in_use=tuple(in_use))
