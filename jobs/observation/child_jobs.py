"""Poll the jobs that Vertex AI makes for a training pipeline of ours: its tuning job or its custom job.

Only a pipeline's tuning job knows its trials (vertex-facts 3), and only its custom job shows when it had machines. A
pipeline stays RUNNING while its custom job is PENDING again after a preemption (vertex-facts 3 and 6.2). So while a
pipeline is active, each poll of its scope gets that job by name, until it has ended. After the end of a pipeline, the
read of its log gets the tuning job once more, because that log is found through the trials. `trial_jobs` does the same
for the custom jobs of trials. A failed call does not change what is recorded.
"""

from collections.abc import Iterable
from datetime import datetime
from itertools import chain
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from jobs import states, storable, transitions, vertex
from jobs.clients import client
from jobs.models import Job, JobEvent, LogFeed, Scope
from jobs.observation import cadence
from jobs.observation.log_sources import custom_job_name, source_columns, study_name
from jobs.observation.restarts import record_restarts
from jobs.observation.set_aside import SetAside
from jobs.observation.trial_jobs import (
    AT_ONCE,
    SETTLED_WITHIN,
    Lookup,
    count_trials,
    is_old,
    poll_trial_jobs,
    trials_to_ask,
    with_answer,
)
from jobs.observation.trials import record_trials
from jobs.observation.wait_reports import record_report
from jobs.queue import claims, rate_limit
from jobs.states import FINISHED, JobState
from jobs.vertex import RemoteJob

WORDS: dict[str, str] = {
    JobState.QUEUED: "Vertex AI queued the custom job of the pipeline.",
    JobState.PENDING: "Vertex AI is preparing machines for the custom job of the pipeline.",
    JobState.RUNNING: "All replicas of the pipeline's custom job are running.",
}


def has_child_jobs(scope: Scope, now: datetime) -> bool:
    """Return whether custom jobs of trials or pipelines have to be requested, including those that have just ended."""
    follows = scope.kind == Job.Kind.PIPELINE and _with_custom_job(scope, now).exists()
    return follows or trials_to_ask(scope, now).exists()


def poll_child_jobs(scope: Scope, lookup: Lookup) -> vertex.VertexError | None:
    """Get the child jobs of a scope's active pipelines, then the custom jobs of trials. Return a failure, if any.

    End early if the rate limit or the time of the poll is used up. The caller holds the claim.
    """
    last_error: vertex.VertexError | None = None
    if scope.kind == Job.Kind.PIPELINE:
        active = Job.objects.remote().filter(project=scope.project, region=scope.region, kind=scope.kind)
        tuning = active.filter(spec__trainingTaskInputs__has_key="studySpec").order_by("last_seen__at", "pk")
        is_due = Q(custom_job_asked_at=None) | Q(custom_job_asked_at__lte=lookup.now - settings.POLL_INTERVAL)
        others = _with_custom_job(scope, lookup.now).filter(is_due)[:AT_ONCE]
        for job, ask in chain(((job, _ask_tuning_job) for job in tuning), ((job, _ask_custom_job) for job in others)):
            if lookup.watch.has_run_out or isinstance(last_error, rate_limit.OverRateLimit):
                return last_error
            last_error = ask(job, lookup) or last_error
    of_trials = poll_trial_jobs(scope, lookup)
    return last_error or of_trials


def poll_ended_pipeline(pk: UUID, lookup: Lookup) -> None:
    """Record the trials or the custom job of a pipeline that has just ended, before its end is recorded.

    A failed call is repeated: for trials when the log is read, for a custom job by the next polls.
    """
    job = Job.objects.get(pk=pk)
    if study_name(job):
        _ask_tuning_job(job, lookup)
    elif job.custom_job_state not in FINISHED:
        _ask_custom_job(job, lookup)


def poll_tuning_jobs(
    feed: LogFeed, jobs: Iterable[Job], aside: SetAside, watch: cadence.Stopwatch, now: datetime
) -> tuple[vertex.VertexError | None, set[UUID]]:
    """Get the tuning jobs of ended pipelines one by one. A failure does not stop the others.

    Return the last failure, and the jobs that have to be requested again before their log is complete. End early if the
    rate limit or the time of the read is used up, or another worker has claimed the feed.
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
        except vertex.VertexError as error:  # a repeated call would fail the same way
            last_error = error
            del unasked[job.pk]
        else:
            del unasked[job.pk]
            with aside.item(f"tuning job of {job.pk}"):
                _record_trials(job, remote, now)
    return last_error, set(unasked)


def _ask_tuning_job(job: Job, lookup: Lookup) -> vertex.VertexError | None:
    if not study_name(job):
        return None
    try:
        remote = lookup.get(Job.Kind.TUNING_JOB, study_name(job), job.acts_as)
    except vertex.VertexError as error:
        return error
    with lookup.aside.item(f"tuning job of {job.pk}"):
        _record_trials(job, remote, lookup.now)
    return None


def _record_trials(job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if record_trials(locked, remote, now=now):
            count_trials(locked, now=now)
        Job.objects.filter(pk=job.pk).update(**storable.fit_columns(Job, source_columns(locked, remote)))


def _with_custom_job(scope: Scope, now: datetime) -> QuerySet[Job]:
    """Return the pipelines of a scope whose custom job may still have news, those requested longest ago first.

    Pipelines that tune have a tuning job instead and are left out.
    """
    is_open = Q(ended_at=None, state__in=states.RUNNING) | Q(ended_at__gt=now - SETTLED_WITHIN)
    found = Job.objects.filter(is_open, project=scope.project, region=scope.region, kind=Job.Kind.PIPELINE)
    found = found.exclude(remote_name="").exclude(log_sources={}).exclude(custom_job_state__in=FINISHED)
    found = found.exclude(spec__trainingTaskInputs__has_key="studySpec")
    return found.order_by(F("custom_job_asked_at").asc(nulls_first=True), "pk")


def _ask_custom_job(job: Job, lookup: Lookup) -> vertex.VertexError | None:
    """Get the custom job of a pipeline, if Vertex AI has named it, and record its states. Return a failure, if any."""
    name = custom_job_name(job)
    if not name:
        return None
    try:
        remote: RemoteJob | None = lookup.get(Job.Kind.CUSTOM_JOB, name, job.acts_as)
    except vertex.NotFound:
        remote = None
    except vertex.VertexError as error:
        return error
    with lookup.aside.item(f"custom job of {job.pk}"):
        _record_custom_job(job.pk, remote, lookup.now)
    return None


def _record_custom_job(pk: UUID, remote: RemoteJob | None, now: datetime) -> None:
    """Record new states of a custom job as events, and the restarts they show."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=pk)
        events = job.events.filter(kind=JobEvent.Kind.CUSTOM_JOB_STATE).order_by("id")
        known = list(events.values_list("to_state", "occurred_at"))
        changes = known if remote is None or is_old(known, remote, now) else with_answer(known, remote, now)
        before = known[-1][0] if known else ""
        for state, at in changes[len(known) :]:
            to = state or JobState.PENDING  # a wait that no poll observed
            if to != before:
                words = WORDS.get(to, f"The custom job of the pipeline is {to.upper()}.")
                transitions.record_custom_job_state(job, before, to, now=now, occurred_at=at, message=words)
            before = to
        if remote is not None and remote.error and before in states.WAITING_AT_VERTEX:
            job.refresh_from_db(fields=["custom_job_state"])
            record_report(job, remote.error, now=now)
        Job.objects.filter(pk=pk).update(custom_job_asked_at=now)
    has_run_before = any(state == JobState.RUNNING for state, _ in changes[:-1])
    if has_run_before and (len(changes) > len(known) or before in states.WAITING_AT_VERTEX):
        record_restarts(job, now=now)
