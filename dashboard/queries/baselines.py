"""The baseline of a job: the job that it was cloned from, else the last one of its name that succeeded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import OuterRef, Subquery

from dashboard.access import jobs_of
from jobs.models import Job
from jobs.states import JobState


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier job and why it was chosen, as text that follows "compared with"."""

    job: Job
    why: str


def get_baselines(user: User, jobs: Iterable[Job]) -> dict[UUID, Baseline]:
    """Return the baseline of each job that has one `user` may see; two queries for any number of jobs."""
    jobs = list(jobs)
    twins = _last_successes(jobs)
    earlier = jobs_of(user).in_bulk({*twins.values(), *(job.cloned_from_id for job in jobs)} - {None})
    baselines: dict[UUID, Baseline] = {}
    for job in jobs:
        if origin := earlier.get(job.cloned_from_id):
            baselines[job.pk] = Baseline(origin, "the job that it was cloned from")
        elif twin := earlier.get(twins.get(job.pk)):
            baselines[job.pk] = Baseline(twin, "the last job of this name that succeeded")
    return baselines


def _last_successes(jobs: Sequence[Job]) -> dict[UUID, UUID | None]:
    """Return the job that was requested last before each of these and succeeded, of the same team and name."""
    same = Job.objects.filter(
        team=OuterRef("team"),
        display_name=OuterRef("display_name"),
        state=JobState.SUCCEEDED,
        requested_at__lte=OuterRef("requested_at"),
    ).exclude(pk=OuterRef("pk"))
    last = Subquery(same.order_by("-requested_at", "pk").values("pk")[:1])
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs]).annotate(last=last)
    return dict(rows.values_list("pk", "last"))
