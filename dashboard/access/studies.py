"""Loaders of studies: a job that tunes, and the rows of its trials."""

from uuid import UUID

from django.http import Http404

from dashboard.access.jobs import job_for
from dashboard.access.roles import Request
from jobs import timeline
from jobs.models import Job, Trial, hide_in


def study_job_for(request: Request, pk: UUID) -> Job:
    """Return the job whose study is asked for; 404 for people outside its team and for a job without one."""
    job = job_for(request, pk)
    if timeline.study_spec(job) is None:
        raise Http404("This job tunes nothing.")
    return job


def trials_of(job: Job) -> list[Trial]:
    """Return the trials of a job that were seen, in no order; no query for a job that tunes nothing."""
    trials = list(job.trials.all()) if timeline.study_spec(job) is not None else []
    hide_in(trials, ["infeasible_reason"], job)
    return trials
