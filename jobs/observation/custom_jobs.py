"""The custom job behind a training pipeline: only its states tell when the pipeline had machines.

A pipeline stays RUNNING while its custom job, whose machine was preempted, is PENDING again (vertex-facts 3 and 6.2).
So while a pipeline runs, its custom job is asked for by name, those first that were asked for longest ago, until it
has ended. Its states are events of the job. A call that fails changes nothing of what is known.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from jobs import states, transitions, vertex
from jobs.models import Job, JobEvent, Scope
from jobs.observation.restarts import reconcile
from jobs.observation.set_aside import Aside
from jobs.observation.sources import custom_job_name
from jobs.observation.trial_jobs import AT_ONCE, SETTLED_WITHIN, is_old, with_answer
from jobs.queue import rate_limit
from jobs.states import FINISHED, JobState
from jobs.vertex import RemoteJob

Get = Callable[[str, str, str], RemoteJob]
"""Given a kind, the name of a job and the service account of its calls: what Vertex AI says of it."""
WORDS: dict[str, str] = {
    JobState.QUEUED: "Vertex AI queued the custom job of the pipeline.",
    JobState.PENDING: "Vertex AI is preparing machines for the custom job of the pipeline.",
    JobState.RUNNING: "All replicas of the pipeline's custom job are running.",
}


def custom_jobs_to_follow(scope: Scope, now: datetime) -> QuerySet[Job]:
    """Return the pipelines of a scope whose custom job may still have news, asked for longest ago first.

    Those that tune have a tuning job instead (`jobs.observation.behind`).
    """
    is_open = Q(ended_at=None, state__in=states.RUNNING) | Q(ended_at__gt=now - SETTLED_WITHIN)
    found = Job.objects.filter(is_open, project=scope.project, region=scope.region, kind=Job.Kind.PIPELINE)
    found = found.exclude(remote_name="").exclude(log_sources={}).exclude(custom_job_state__in=FINISHED)
    found = found.exclude(spec__trainingTaskInputs__has_key="studySpec")
    return found.order_by(F("custom_job_asked_at").asc(nulls_first=True), "pk")


def poll_custom_jobs(
    scope: Scope, *, get: Get, has_run_out: Callable[[], bool], aside: Aside, now: datetime
) -> vertex.VertexError | None:
    """Ask for the custom jobs behind a scope's pipelines, each once in a poll interval; return the last failure.

    Ends early when the budget or the time of the look is used up. The caller holds the claim.
    """
    is_due = Q(custom_job_asked_at=None) | Q(custom_job_asked_at__lte=now - settings.POLL_INTERVAL)
    last_error: vertex.VertexError | None = None
    for job in custom_jobs_to_follow(scope, now).filter(is_due)[:AT_ONCE]:
        if has_run_out() or isinstance(last_error, rate_limit.OverRateLimit):
            break
        last_error = ask_custom_job(job, get, aside, now) or last_error
    return last_error


def ask_custom_job(job: Job, get: Get, aside: Aside, now: datetime) -> vertex.VertexError | None:
    """Ask for the custom job of a pipeline, if Vertex AI has named it, and record its states; return a failure."""
    name = custom_job_name(job)
    if not name:
        return None
    try:
        remote: RemoteJob | None = get(Job.Kind.CUSTOM_JOB, name, job.acts_as)
    except vertex.NotFound:
        remote = None
    except vertex.VertexError as error:
        return error
    with aside.item(f"custom job of {job.pk}"):
        _record(job.pk, remote, now)
    return None


def _record(pk: UUID, remote: RemoteJob | None, now: datetime) -> None:
    """Write the states that are new as events, and restarts that they tell."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=pk)
        events = job.events.filter(kind=JobEvent.Kind.CUSTOM_JOB_STATE).order_by("id")
        known = list(events.values_list("to_state", "occurred_at"))
        changes = known if remote is None or is_old(known, remote, now) else with_answer(known, remote, now)
        before = known[-1][0] if known else ""
        for state, at in changes[len(known) :]:
            to = state or JobState.PENDING  # a wait that nobody saw
            if to != before:
                _record_state(job, before, to, at, now)
            before = to
        Job.objects.filter(pk=pk).update(custom_job_asked_at=now)
    has_run_before = any(state == JobState.RUNNING for state, _ in changes[:-1])
    if has_run_before and (len(changes) > len(known) or before in states.WAITING_AT_VERTEX):
        reconcile(job, now=now)


def _record_state(job: Job, before: str, to: str, at: datetime, now: datetime) -> None:
    transitions.record_event(
        job,
        JobEvent.Kind.CUSTOM_JOB_STATE,
        now=now,
        occurred_at=at,
        reason="observed",
        message=WORDS.get(to, f"The custom job of the pipeline is {to.upper()}."),
        from_state=before,
        to_state=to,
        once_key=f"custom_job:{to}:{at.isoformat()}",
    )
