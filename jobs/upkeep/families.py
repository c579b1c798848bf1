"""Families of runs: each job is filed in one soon after its request, and so are the jobs from before families.

A schedule's runs are one family, a sweep's jobs are one, and a further attempt is in that of the first. A copy joins
the family of the job that it was made from while both run the same program (`jobs.cost.likeness`). Every other job is a
family of its own, which copies may join. People move jobs afterwards (`jobs.requests.families`), and filing never
changes a family again.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from jobs import spec
from jobs.cost.likeness import program_of
from jobs.isolation import take_portions
from jobs.metrics import Record, Totals
from jobs.models import FallbackAttempt, Job, JobMetrics, RunSummary
from jobs.models.job import JobQuerySet
from jobs.spec.secrets import Masker
from jobs.spec.settings import settings_of
from jobs.timeline.results import results_of

PORTION = 200
"""Jobs of one transaction: a fraction of a second, so that no worker waits for long."""


def unfiled() -> JobQuerySet:
    """Select the jobs that are in no family yet."""
    return Job.objects.filter(family=None)


def file_jobs(_now: datetime | None = None) -> int:
    """File up to PORTION jobs, the oldest first, and return how many there were. Repeating it is harmless."""
    keys = list(unfiled().order_by("requested_at", "pk").values_list("pk", flat=True)[:PORTION])
    return take_portions(keys, _file, what="families of jobs") if keys else 0


def _file(keys: Sequence[UUID]) -> int:
    with transaction.atomic():
        rows = Job.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=keys, family=None)
        jobs = list(rows.select_related("attempt", "schedule_run").order_by("pk"))  # locked in the order of others
        jobs.sort(key=lambda job: (job.requested_at, job.pk))
        parents = Job.objects.in_bulk({job.cloned_from_id for job in jobs if job.cloned_from_id}) if jobs else {}
        firsts = _first_attempts(jobs)
        filed: dict[UUID, UUID] = {}
        for job in jobs:
            filed[job.pk] = job.family = _family_of(job, parents, firsts, filed)
        Job.objects.bulk_update(jobs, ["family"])
        RunSummary.objects.bulk_create(
            _summaries(jobs), update_conflicts=True, unique_fields=["job"], update_fields=["settings", "results"]
        )
    return len(jobs)


def _family_of(
    job: Job, parents: Mapping[UUID, Job], firsts: Mapping[UUID, tuple[UUID, UUID | None]], filed: Mapping[UUID, UUID]
) -> UUID:
    """Return the family of a job. `filed` are those of earlier jobs of the same step."""
    attempt, run = getattr(job, "attempt", None), getattr(job, "schedule_run", None)
    if attempt is not None and attempt.number > 1 and attempt.fallback_id in firsts:
        first, family = firsts[attempt.fallback_id]
        if (family := filed.get(first, family)) is not None:
            return family
    if run is not None:
        return UUID(str(run.schedule_id))
    parent = parents.get(job.cloned_from_id) if job.cloned_from_id else None
    if parent is not None and parent.team_id == job.team_id:
        family = filed.get(parent.pk, parent.family)
        if family is not None and _program(parent) == _program(job) != "":
            return family
    return job.sweep or job.pk


def _program(job: Job) -> str:
    """Return the program of a job, or "" if its spec cannot be read."""
    try:
        return program_of(
            spec.stored_submission(f"job {job.pk}", job.kind, job.spec, project=job.project, region=job.region)
        )
    except ValueError:
        return ""


def _first_attempts(jobs: Iterable[Job]) -> dict[UUID, tuple[UUID, UUID | None]]:
    """Return {fallback: (its first job, the family of that)} of the further attempts. One query, or none."""
    attempts = [getattr(job, "attempt", None) for job in jobs]
    wanted = {each.fallback_id for each in attempts if each is not None and each.number > 1}
    if not wanted:
        return {}
    rows = FallbackAttempt.objects.filter(fallback__in=wanted, number=1)
    return {key: (job, family) for key, job, family in rows.values_list("fallback", "job", "job__family")}


def _summaries(jobs: Sequence[Job]) -> list[RunSummary]:
    """Return the summaries of jobs: their settings without secrets, and what their logs have shown so far."""
    records = dict(JobMetrics.objects.filter(job__in=[job.pk for job in jobs]).values_list("job", "record"))
    return [
        RunSummary(
            job=job,
            settings=settings_of(Masker(job.spec, job.secrets).body),
            results=results_of(Record.load(records[job.pk], Totals())) if records.get(job.pk) else {},
        )
        for job in jobs
    ]
