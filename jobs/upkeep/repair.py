"""Repair what a crash between two writes may have left behind. Each repair of a job is recorded as an event."""

import logging
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs import transitions
from jobs.isolation import take_each
from jobs.models import Discovery, Job, JobEvent, LogFeed, Scope
from jobs.queue import claims
from jobs.states import LOCAL, JobState

logger = logging.getLogger(__name__)

AT_ONCE = 500
"""Jobs repaired by one sweep. The next sweep finds the rest."""


def repair(now: datetime) -> int:
    """Release expired claims, and schedule a step for rows that need one but have none. Return how many rows."""
    parts = (_dead_claims, _without_step, _unwatched_scopes, _unread_feeds)
    return take_each(parts, lambda part: part(now), what="repairs")


def _dead_claims(now: datetime) -> int:
    """Release the claims of workers that died, or were so slow that their claims expired."""
    dead = Q(claim__isnull=False, claimed_until__lte=now)
    jobs = list(Job.objects.filter(dead).order_by("claimed_until", "pk")[:AT_ONCE])
    words = "A worker claimed the job and did not finish in time. The next one continues from what is recorded."
    repaired = 0
    for row in (Scope, LogFeed, Discovery):
        if count := row.objects.filter(dead).update(claim=None, claimed_until=None):
            logger.warning("released expired claims of workers: %d of %s", count, row.__name__)
            repaired += count
    return repaired + take_each(jobs, lambda job: _release_and_record(job, words, now), what="expired claims of jobs")


def _release_and_record(job: Job, words: str, now: datetime) -> bool:
    with transaction.atomic():
        held = Job.objects.filter(pk=job.pk, claim=job.claim)
        if not held.update(claim=None, claimed_until=None):  # it came back after all
            return False
        return _record(job, "dead_claim", words, now, detail={"claim": str(job.claim)})


def _without_step(now: datetime) -> int:
    """Schedule jobs that need a worker but have no due time, so that no sweep would find them."""
    waiting = Q(state__in=[JobState.APPROVED, JobState.SUBMITTING])
    unsent = Q(cancel_requested_at__isnull=False) & ~Q(state__in=LOCAL) & ~Q(remote_name="")
    kept = Q(deletion_requested_at__isnull=False, deleted_at=None)
    repaired = 0
    for rows in (Job.objects.unfinished().filter(waiting | unsent), Job.objects.filter(kept)):
        lost = rows.filter(due_at=None, claim=None)
        jobs = list(lost.order_by("requested_at", "pk")[:AT_ONCE])
        repaired += take_each(jobs, partial(_schedule, lost, now), what="jobs without a next step")
    return repaired


def _schedule(lost: "QuerySet[Job]", now: datetime, job: Job) -> bool:
    words = "The job had no next step, for example after a crash between two writes. The sweep scheduled one."
    with transaction.atomic():
        # The conditions again: somebody may have written the row meanwhile.
        if not lost.filter(pk=job.pk).order_by().update(due_at=now):
            return False
        return _record(job, "no_next_step", words, now)


def _record(job: Job, reason: str, words: str, now: datetime, detail: dict[str, str] | None = None) -> bool:
    key = f"repaired:{reason}:{now.isoformat()}"
    kind = JobEvent.Kind.REPAIRED
    return transitions.record_event(job, kind, now=now, reason=reason, message=words, once_key=key, detail=detail)


def _unwatched_scopes(now: datetime) -> int:
    place = {name: OuterRef(name) for name in ("project", "region", "kind")}
    watched = Exists(Scope.objects.filter(**place, due_at__isnull=False))
    unwatched = Job.objects.remote().exclude(remote_name="").filter(~watched).order_by()
    places = list(unwatched.values_list("project", "region", "kind").distinct())
    for project, region, kind in places:
        claims.wake_scope(project=project, region=region, kind=kind, due_at=now)
        logger.warning("a scope with jobs was not polled: %s in %s of %s", kind, region, project)
    return len(places)


def _unread_feeds(now: datetime) -> int:
    read = Exists(LogFeed.objects.filter(project=OuterRef("project"), due_at__isnull=False))
    growing = Job.objects.filter(log_complete=False, submitted_at__isnull=False).exclude(remote_name="")
    projects = list(growing.filter(~read).order_by().values_list("project", flat=True).distinct())
    for project in projects:
        claims.wake_feed(project, due_at=now)
    return len(projects)
