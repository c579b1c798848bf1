"""The tuning job behind a pipeline: Vertex AI names it in the pipeline, and only it knows its trials (vertex-facts 3).

While the pipeline is active, each look at its scope asks for it. After its end the look at its log asks once more,
because the trials are also where that log is found.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction

from jobs import storable, vertex
from jobs.connection import client
from jobs.models import Job, LogFeed, Scope
from jobs.observation import cadence
from jobs.observation.set_aside import Aside
from jobs.observation.sources import source_columns, study_name
from jobs.observation.trial_jobs import count_trials, poll_trial_jobs
from jobs.observation.trials import record_trials
from jobs.queue import claims, rate_limit

Get = Callable[[str, str, str], vertex.RemoteJob]


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


def poll_trials(
    scope: Scope, watch: cadence.Stopwatch, *, get: Get, aside: Aside, now: datetime
) -> vertex.VertexError | None:
    """Ask for the tuning jobs behind a scope's active pipelines, then for custom jobs of trials; return a failure.

    `get` asks for a job of a kind by its name. Ends early when the budget or the time of the look is used up.
    """
    last_error: vertex.VertexError | None = None
    if scope.kind == Job.Kind.PIPELINE:
        active = Job.objects.remote().filter(project=scope.project, region=scope.region, kind=scope.kind)
        for job in active.filter(spec__trainingTaskInputs__has_key="studySpec").order_by("last_seen__at", "pk"):
            if watch.has_run_out or isinstance(last_error, rate_limit.OverRateLimit):
                return last_error
            last_error = _ask(job, get, aside, now) or last_error
    of_trials = poll_trial_jobs(
        scope, get=partial(get, Job.Kind.CUSTOM_JOB), has_run_out=lambda: watch.has_run_out, aside=aside, now=now
    )
    return last_error or of_trials


def poll_behind_ended(pk: UUID, get: Get, aside: Aside, now: datetime) -> None:
    """Record the trials of a pipeline that has just ended, so that the event of its end tells what came of them.

    What fails is asked for again with the log.
    """
    _ask(Job.objects.get(pk=pk), get, aside, now)


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
