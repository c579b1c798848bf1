"""With what a job is worth comparing: the job that it was cloned from, else the last one of its name that succeeded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from dashboard.access.jobs import jobs_of
from jobs.models import Job
from jobs.states import JobState


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier job and why it was chosen, in words that follow "compared with"."""

    job: Job
    why: str


def baselines_of(user: User, jobs: Iterable[Job]) -> dict[UUID, Baseline]:
    """Return the baseline of each job that has one `user` may see; two queries for any number of jobs."""
    asked = list(jobs)
    seen = jobs_of(user)
    origins = seen.in_bulk([job.cloned_from_id for job in asked if job.cloned_from_id])
    rest = [job for job in asked if job.cloned_from_id not in origins]
    twins = _succeeded_of_same_name(user, rest) if rest else []
    found: dict[UUID, Baseline] = {}
    for job in asked:
        if job.cloned_from_id in origins:
            found[job.pk] = Baseline(origins[job.cloned_from_id], "the job that it was cloned from")
        elif twin := next((each for each in twins if _precedes(each, job)), None):
            found[job.pk] = Baseline(twin, "the last job of this name that succeeded")
    return found


def _succeeded_of_same_name(user: User, jobs: Sequence[Job]) -> Sequence[Job]:
    """Return the last success before any of `jobs` for each team and name, newest first."""
    names, teams = {job.display_name for job in jobs}, {job.team_id for job in jobs}
    return list(
        jobs_of(user)
        .filter(state=JobState.SUCCEEDED, display_name__in=names, team__in=teams)
        .order_by("-ended_at", "pk")[:MOST]
    )


MOST = 500
"""Successes that are looked through; older ones are not offered."""


def _precedes(earlier: Job, job: Job) -> bool:
    return (
        earlier.pk != job.pk
        and earlier.team_id == job.team_id
        and earlier.display_name == job.display_name
        and earlier.requested_at <= job.requested_at
    )
