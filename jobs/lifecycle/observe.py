"""Look at all jobs of one scope at once and record what Vertex AI says.

One list call answers for every active job of a project, region and kind. A job of ours that is missing from it has
ended, so it is asked for by name. Whatever goes wrong in the outside world is written on the scope, never on a job's
state: the board then shows how old our knowledge is.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from jobs import vertex
from jobs.lifecycle import claims
from jobs.lifecycle.connection import INSTANCE_LABEL, client
from jobs.lifecycle.record import record, record_absence
from jobs.lifecycle.restarts import reconcile
from jobs.models import Job, Scope
from jobs.states import JobState

FIELDS = ("name", "displayName", "state", "createTime", "startTime", "endTime", "updateTime", "error", "labels")
ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED")
ERROR_WINDOW = timedelta(minutes=5)
"""How long a failed job without a reason is asked again; the reason takes about a minute (vertex-facts 6.1)."""


def observe(scope_id: int, *, now: datetime) -> None:
    """Look at one scope and plan the next look; does nothing when it is not due or another worker is at it."""
    scope = claims.claim_look(Scope, scope_id, now)
    if scope is None:
        return
    watched = {job.remote_name: job for job in watched_jobs(scope, now)}
    if not watched:
        claims.release_look(scope, due_at=None, answered_at=scope.answered_at)
        return
    before = {name: job.state for name, job in watched.items()}
    try:
        trouble = _look(scope, watched, now)
    except vertex.VertexError as error:
        trouble = error
    if trouble is not None:
        claims.release_failed(scope, trouble, now=now)
        return
    for name, job in watched.items():
        may_be_restarting = job.started_at is not None and job.state in {JobState.QUEUED, JobState.PENDING}
        if job.state != before[name] or may_be_restarting:
            reconcile(job, now=now)
    claims.wake_feed(scope.project, due_at=now)
    claims.release_look(scope, due_at=now + settings.POLL_INTERVAL, answered_at=now)


def watched_jobs(scope: Scope, now: datetime) -> list[Job]:
    """Jobs that Vertex AI may still have news about: those that are active, and those that failed without a reason."""
    of_scope = Job.objects.filter(project=scope.project, region=scope.region, kind=scope.kind).exclude(remote_name="")
    reasonless = Q(state=JobState.FAILED, error__isnull=True, ended_at__gt=now - ERROR_WINDOW)
    active = Q(pk__in=of_scope.remote().values("pk"))
    return list(of_scope.filter(active | reasonless).order_by("submitted_at", "pk"))


def _look(scope: Scope, watched: dict[str, Job], now: datetime) -> vertex.VertexError | None:
    """One list for the active ones, one get for each of ours that it does not hold and that had not ended.

    A get that fails does not keep the others from being asked; the last such failure is returned.
    """
    active = " AND ".join(f'state!="{state}"' for state in ENDED)
    listed = client().list(
        scope.kind,
        project=scope.project,
        region=scope.region,
        filter=f'labels.{INSTANCE_LABEL}="{settings.INSTANCE}" AND {active}',
        fields=FIELDS,
    )
    answers = {remote.name: remote for remote in listed if remote.name in watched}
    for name, remote in answers.items():
        _record(scope, watched[name], remote, now)
    trouble = None
    for name, job in watched.items():
        asks_again = not job.is_finished or (job.state == JobState.FAILED and job.error is None)
        if name in answers or not asks_again:
            continue
        try:
            _record(scope, job, client().get(scope.kind, name), now)
        except vertex.NotFound:
            _record_absence(scope, job, now)
        except vertex.VertexError as error:
            trouble = error
    return trouble


def _record(scope: Scope, job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    with transaction.atomic():
        if claims.still_mine(scope):
            record(job, remote, now=now)


def _record_absence(scope: Scope, job: Job, now: datetime) -> None:
    with transaction.atomic():
        if claims.still_mine(scope):
            record_absence(job, now=now)
