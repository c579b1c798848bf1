"""Whether this database may send jobs, and since when it is known not to have been replaced by an older copy.

A restored backup, or a copy of the database used for staging, does not know what was sent after it was made. Two things
keep its jobs from being sent again. A database belongs to one instance, by name: a site of another name sends nothing.
And a request from before `trusted_since` is looked up at Vertex AI by its label before it is sent. That moment is the
start of the worker's process, or later: each worker remembers the newest event that it has seen, and where that event
is gone the database went back in time.
"""

import logging
import threading
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction

from jobs.lifecycle.clock import Clock
from jobs.models import Installation, JobEvent

logger = logging.getLogger(__name__)

WENT_BACK = "The database went back in time: events that a worker had seen are gone. Nothing is sent without a look-up."


@dataclass(slots=True)
class Watch:
    """What one worker process remembers of the database."""

    began_at: datetime | None = None
    newest_event: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_watch = Watch()


def trusted_since(clock: Clock) -> datetime:
    """Return since when nothing was lost from this database, as far as this process can tell."""
    now = clock.now()
    row = make_sure(now)
    with _watch.lock:
        if _watch.began_at is None:
            _watch.began_at = now
        seen, newest = _watch.newest_event, _newest_event()
        if seen is not None and (newest is None or newest < seen or not JobEvent.objects.filter(pk=seen).exists()):
            _watch.began_at = now
            logger.error(WENT_BACK)
            mark_restored(WENT_BACK, now=now)
        _watch.newest_event = newest
        began_at = _watch.began_at
    return max(began_at, row.trusted_since)


def begin(now: datetime) -> None:
    """Begin to watch the database, as a new worker process does."""
    with _watch.lock:
        _watch.began_at, _watch.newest_event = now, None


def may_send(clock: Clock) -> bool:
    """Tell whether this site may send anything for the jobs of this database."""
    return make_sure(clock.now()).instance == settings.INSTANCE


def owner() -> str:
    """Return the name of the instance that this database belongs to; "" before its first worker started."""
    return Installation.objects.filter(pk=1).values_list("instance", flat=True).first() or ""


def is_foreign() -> bool:
    """Tell whether the database belongs to an instance of another name, so that nothing is sent from here."""
    return owner() not in {"", settings.INSTANCE}


def mark_restored(reason: str, *, now: datetime, take_over: bool = False) -> None:
    """Let every request so far be looked up before it is sent; `take_over` makes the database this instance's."""
    with transaction.atomic():
        defaults = {"instance": settings.INSTANCE, "trusted_since": now}
        row, _ = Installation.objects.select_for_update().get_or_create(pk=1, defaults=defaults)
        row.trusted_since, row.restored_reason = now, reason
        if take_over:
            row.instance = settings.INSTANCE
        row.save()


def make_sure(now: datetime) -> Installation:
    """Return the row; the first worker of a database writes it, with the name of its own instance."""
    row = Installation.objects.filter(pk=1).first()
    if row is None:
        defaults = {"instance": settings.INSTANCE, "trusted_since": now}
        row, _ = Installation.objects.get_or_create(pk=1, defaults=defaults)
    return row


def _newest_event() -> int | None:
    """The newest change of a state; retention never removes one."""
    events = JobEvent.objects.filter(kind=JobEvent.Kind.STATE).order_by("-pk")
    return events.values_list("pk", flat=True).first()
