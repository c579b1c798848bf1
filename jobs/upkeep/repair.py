"""Repair what a crash between two writes may have left behind. Each repair of a job is recorded as an event."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet, Value

from jobs import transitions
from jobs.isolation import take_each
from jobs.messages import queue
from jobs.models import AdviceReading, Discovery, ImageReading, Job, JobEvent, LogFeed, ResourceChange, Scope, Upkeep
from jobs.queue import claims
from jobs.states import LOCAL, JobState
from jobs.submission.cancel import MAX_REPEAT
from jobs.upkeep.schedules import repair_next_times
from jobs.vertex.answers import MAX_WAIT

logger = logging.getLogger(__name__)

MAX_PAUSE = max(MAX_WAIT, MAX_REPEAT)
"""The longest pause of a row, unless polls are further apart: what Google may ask for, or between two cancellations."""
SLACK = timedelta(seconds=30)
AT_ONCE = 500
"""Jobs repaired by one sweep. The next sweep finds the rest."""
POLLED = (Scope, LogFeed, Discovery)
Ahead = tuple[type[Model], Q, dict[str, datetime]]
"""A table, which of its rows have a time that lies too far ahead, and the columns that repair it."""


def repair(now: datetime) -> int:
    """Repair rows that no worker would take up again, and return how many.

    These are expired claims, and rows that need a step and have none.
    """
    parts = (_dead_claims, _without_step, _unwatched_scopes, _unread_feeds)
    return take_each(parts, lambda part: part(now), what="repairs")


def expired_claims(now: datetime) -> list[QuerySet[Any]]:
    """Select the rows whose claims have expired, by table."""
    return [model._default_manager.filter(_is_dead(now)) for model in (Job, *POLLED)]


def untended() -> list["QuerySet[Job]"]:
    """Select the jobs that need a worker, a poll of their scope or of their logs, and have none planned."""
    return [*_without_due_time(), _unwatched(), _unread()]


def repair_times(now: datetime) -> int:
    """Repair what was planned while the database's clock was ahead, and return how many rows."""
    return take_each((_times_too_late, repair_next_times), lambda part: part(now), what="times")


def _times_too_late(now: datetime) -> int:
    """Make rows due now whose due time or claim lies further ahead than any that is written. Return how many.

    They were written while the database's clock was ahead. A claim is only shortened: its worker may still be in the
    call that it was taken for.
    """
    late = Q(due_at__gt=now + max(MAX_PAUSE, 4 * settings.POLL_INTERVAL))
    far = [*_times_ahead(now, late), *queue.times_ahead(now)]
    wrong: dict[type[Model], Q] = {Job: late}
    for model, condition, _ in far:
        wrong[model] = wrong.get(model, Q()) | condition
    # One query asks about all tables, because in nearly every case there is nothing to repair.
    tables = [model._default_manager.filter(any_wrong).order_by() for model, any_wrong in wrong.items()]
    first, *others = (rows.values_list(Value(number)) for number, rows in enumerate(tables))
    found = {tables[number].model for (number,) in first.union(*others)}
    count: int = sum(
        model._default_manager.filter(condition).update(**values) for model, condition, values in far if model in found
    )
    if count:
        logger.error("%d due times or claims lay too far ahead; was the database's clock set back?", count)
    late_jobs = Job.objects.filter(late).order_by("due_at", "pk").values_list("pk", "due_at")
    first_jobs = list(late_jobs[:AT_ONCE]) if Job in found else []
    return count + take_each(first_jobs, lambda row: _make_due(*row, now), what="due times of jobs")


def _times_ahead(now: datetime, late: Q) -> Iterator[Ahead]:
    """Yield times that lie too far ahead, and the columns that repair them. `late` is that of steps and polls."""
    answered = Q(answered_at__gt=now + MAX_PAUSE)
    for row in POLLED:
        yield row, answered, {"due_at": now, "answered_at": now}
        yield row, late, {"due_at": now}
    yield ResourceChange, late & Q(ended_at=None), {"due_at": now}
    for waiting in (ImageReading, AdviceReading):
        yield waiting, Q(due_at__gt=now + SLACK), {"due_at": now}
    # Upkeep tasks have intervals of up to a day: the time of the last run shows that it was written ahead.
    yield Upkeep, answered, {"due_at": now, "answered_at": now}
    leases = {Job: claims.JOB_LEASE, ResourceChange: claims.JOB_LEASE, Upkeep: MAX_PAUSE}
    for model in (Job, ResourceChange, Upkeep, *POLLED):
        lease = leases.get(model, claims.LEASE)
        yield model, Q(claim__isnull=False, claimed_until__gt=now + lease + SLACK), {"claimed_until": now + lease}


def _make_due(pk: UUID, due_at: datetime | None, now: datetime) -> bool:
    words = "The next step was planned too far ahead, for example while the database's clock was wrong. It is due now."
    with transaction.atomic():
        if not Job.objects.filter(pk=pk, due_at=due_at).order_by().update(due_at=now):
            return False
        return _record(pk, "due_too_late", words, now)


def _is_dead(now: datetime) -> Q:
    return Q(claim__isnull=False, claimed_until__lte=now)


def _dead_claims(now: datetime) -> int:
    """Release the claims of workers that died, or were so slow that their claims expired."""
    dead = _is_dead(now)
    held = Job.objects.filter(dead).order_by("claimed_until", "pk").values_list("pk", "claim")[:AT_ONCE]
    words = "A worker claimed the job and did not finish in time. The next one continues from what is recorded."
    repaired = 0
    for row in POLLED:
        if count := row.objects.filter(dead).update(claim=None, claimed_until=None):
            logger.warning("released expired claims of workers: %d of %s", count, row.__name__)
            repaired += count
    return repaired + take_each(
        list(held), lambda row: _release_and_record(*row, words, now), what="expired claims of jobs"
    )


def _release_and_record(pk: UUID, claim: UUID | None, words: str, now: datetime) -> bool:
    with transaction.atomic():
        held = Job.objects.filter(pk=pk, claim=claim)
        if not held.update(claim=None, claimed_until=None):  # it came back after all
            return False
        return _record(pk, "dead_claim", words, now, detail={"claim": str(claim)})


@cache
def _without_due_time() -> "list[QuerySet[Job]]":
    """Return selections of the jobs that need a worker but have no due time; each has an index.

    Like the two below they are built once, because idle sweeps would spend most of their time on it.
    """
    waiting = Q(state__in=[JobState.APPROVED, JobState.SUBMITTING])
    unsent = Q(cancel_requested_at__isnull=False) & ~Q(state__in=LOCAL) & ~Q(remote_name="")
    kept = Q(deletion_requested_at__isnull=False, deleted_at=None)
    parts = (Job.objects.unfinished().filter(waiting | unsent), Job.objects.filter(kept))
    return [rows.filter(due_at=None, claim=None) for rows in parts]


def _without_step(now: datetime) -> int:
    """Schedule jobs that need a worker but have no due time, so that no sweep would find them."""
    repaired = 0
    for lost in _without_due_time():
        keys = list(lost.order_by("requested_at", "pk").values_list("pk", flat=True)[:AT_ONCE])
        repaired += take_each(keys, partial(_schedule, lost, now), what="jobs without a next step")
    return repaired


def _schedule(lost: "QuerySet[Job]", now: datetime, pk: UUID) -> bool:
    words = "The job had no next step, for example after a crash between two writes. The sweep scheduled one."
    with transaction.atomic():
        # The conditions again: somebody may have written the row meanwhile.
        if not lost.filter(pk=pk).order_by().update(due_at=now):
            return False
        return _record(pk, "no_next_step", words, now)


def _record(pk: UUID, reason: str, words: str, now: datetime, detail: dict[str, str] | None = None) -> bool:
    key = f"repaired:{reason}:{now.isoformat()}"
    kind, job = JobEvent.Kind.REPAIRED, Job.objects.get(pk=pk)
    return transitions.record_event(job, kind, now=now, reason=reason, message=words, once_key=key, detail=detail)


@cache
def _unwatched() -> "QuerySet[Job]":
    """Select the jobs whose scope is not polled."""
    place = {name: OuterRef(name) for name in ("project", "region", "kind")}
    watched = Exists(Scope.objects.filter(**place, due_at__isnull=False))
    return Job.objects.remote().exclude(remote_name="").filter(~watched).order_by()


def _unwatched_scopes(now: datetime) -> int:
    places = list(_unwatched().values_list("project", "region", "kind").distinct())
    for project, region, kind in places:
        claims.wake_scope(project=project, region=region, kind=kind, due_at=now)
        logger.warning("a scope with jobs was not polled: %s in %s of %s", kind, region, project)
    return len(places)


@cache
def _unread() -> "QuerySet[Job]":
    """Select the jobs whose log grows and whose project's feed is not read."""
    read = Exists(LogFeed.objects.filter(project=OuterRef("project"), due_at__isnull=False))
    growing = Job.objects.filter(log_complete=False, submitted_at__isnull=False).exclude(remote_name="")
    return growing.filter(~read).order_by()


def _unread_feeds(now: datetime) -> int:
    projects = list(_unread().values_list("project", flat=True).distinct())
    for project in projects:
        claims.wake_feed(project, due_at=now)
    return len(projects)
