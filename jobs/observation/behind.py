"""The job behind a pipeline, which Vertex AI names in it: only a tuning job knows its trials (vertex-facts 3).

While the pipeline is active, each look at its scope asks for it; `custom_jobs` does for that of a pipeline without
trials. After its end the look at its log asks once more, because the trials are also where that log is found.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction

from jobs import storable, vertex
from jobs.connection import client
from jobs.models import Job, LogFeed, Scope
from jobs.observation import cadence
from jobs.observation.custom_jobs import Get, ask_custom_job, custom_jobs_to_follow, poll_custom_jobs
from jobs.observation.set_aside import Aside
from jobs.observation.sources import source_columns, study_name
from jobs.observation.trial_jobs import count_trials, poll_trial_jobs, trials_to_ask
from jobs.observation.trials import record_trials
from jobs.queue import claims, rate_limit
from jobs.states import FINISHED


def poll_jobs_behind(
    feed: LogFeed, jobs: Iterable[Job], aside: Aside, watch: cadence.Stopwatch, now: datetime
) -> tuple[vertex.VertexError | None, set[UUID]]:
    """Ask for the tuning job of each pipeline that has one; a failure keeps none of the others from being asked for.

    Returns the last failure, and the jobs of which it is to be asked again before their log counts as read. Ends early
    when our budget is used up, when the time of a look is, or when another worker has taken the feed over.
    """
    last_error: vertex.VertexError | None = None
    unasked = {job.pk: job for job in jobs if study_name(job)}
    for job in list(unasked.values()):
        if watch.has_run_out or not claims.renew_poll(feed, now=watch.now):
            break
        try:
            rate_limit.spend(rate_limit.reads(job.project, job.region), now=now)
            with vertex.at_most(cadence.PATIENCE_SECONDS if last_error is None else cadence.PROBE_SECONDS):
                remote = client(job.acts_as).get(Job.Kind.TUNING_JOB, study_name(job))
        except rate_limit.OverRateLimit as error:
            return error, set(unasked)
        except (vertex.Unavailable, vertex.RateLimited) as error:
            last_error = error
        except vertex.VertexError as error:  # asking again would bring the same
            last_error = error
            del unasked[job.pk]
        else:
            del unasked[job.pk]
            with aside.item(f"tuning job of {job.pk}"):
                _record(job, remote, now)
    return last_error, set(unasked)


def has_jobs_behind(scope: Scope, now: datetime) -> bool:
    """Tell whether custom jobs of trials or pipelines are to be asked for, also of those that have just ended."""
    follows = scope.kind == Job.Kind.PIPELINE and custom_jobs_to_follow(scope, now).exists()
    return follows or trials_to_ask(scope, now).exists()


def poll_behind(
    scope: Scope, watch: cadence.Stopwatch, *, get: Get, aside: Aside, now: datetime
) -> vertex.VertexError | None:
    """Ask for the jobs behind a scope's active pipelines, then for custom jobs of trials; return a failure.

    `get` asks for a job of a kind by its name. Ends early when the budget or the time of the look is used up.
    """
    last_error: vertex.VertexError | None = None
    if scope.kind == Job.Kind.PIPELINE:
        active = Job.objects.remote().filter(project=scope.project, region=scope.region, kind=scope.kind)
        for job in active.filter(spec__trainingTaskInputs__has_key="studySpec").order_by("last_seen__at", "pk"):
            if watch.has_run_out or isinstance(last_error, rate_limit.OverRateLimit):
                return last_error
            last_error = _ask(job, get, aside, now) or last_error
        followed = poll_custom_jobs(scope, get=get, has_run_out=lambda: watch.has_run_out, aside=aside, now=now)
        last_error = followed or last_error
        if isinstance(last_error, rate_limit.OverRateLimit):
            return last_error
    of_trials = poll_trial_jobs(
        scope, get=partial(get, Job.Kind.CUSTOM_JOB), has_run_out=lambda: watch.has_run_out, aside=aside, now=now
    )
    return last_error or of_trials


def poll_behind_ended(pk: UUID, get: Get, aside: Aside, now: datetime) -> None:
    """Record what came of the trials, or of the custom job, of a pipeline that has just ended, before its end is.

    What fails is asked for again: trials with the log, a custom job by the next polls.
    """
    job = Job.objects.get(pk=pk)
    if study_name(job):
        _ask(job, get, aside, now)
    elif job.custom_job_state not in FINISHED:
        ask_custom_job(job, get, aside, now)


def _ask(job: Job, get: Get, aside: Aside, now: datetime) -> vertex.VertexError | None:
    if not study_name(job):
        return None
    try:
        remote = get(Job.Kind.TUNING_JOB, study_name(job), job.acts_as)
    except vertex.VertexError as error:
        return error
    with aside.item(f"tuning job of {job.pk}"):
        _record(job, remote, now)
    return None


def _record(job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if record_trials(locked, remote, now=now):
            count_trials(locked, now=now)
        Job.objects.filter(pk=job.pk).update(**storable.fit_columns(Job, source_columns(locked, remote)))
