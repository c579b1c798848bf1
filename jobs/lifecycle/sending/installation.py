"""Whether this database may send jobs, and since when it is known not to have been replaced by an older copy.

A restored backup, a copy of the database used for staging, or a replica that took over and lacks the last commits does
not know all that was sent. Three things keep its jobs from being sent again. A database belongs to one instance, by
name: a site of another name sends nothing. A request from before the start of a worker's process is looked up at Vertex
AI by its label before that worker sends it. And where a worker loses its connection, or misses an event that it had
seen, every request that is not sent counts as in doubt from then on, for all workers: it is looked up until it is
certain that Vertex AI does not have it.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.backends.signals import connection_created

from jobs.models import Installation, Job, JobEvent
from jobs.states import JobState

logger = logging.getLogger(__name__)

WENT_BACK = (
    "A worker lost its connection to the database, or misses events: requests are looked up before they are sent."
)

EventMark = tuple[Any, ...]
"""What no two events share: number, job and time."""


@dataclass(slots=True)
class Watch:
    """What one worker process remembers of the database: since when it watches, and the newest event it has seen."""

    began_at: datetime | None = None
    newest_event: EventMark | None = None
    lost_connection: bool = False

    def went_back(self, now: datetime, newest: EventMark | None, is_known: Callable[[EventMark], bool]) -> bool:
        """Remember the newest event of the database; tell whether this may be another database than the last time.

        That is so after a lost connection, and where the event that was remembered before is gone. `is_known` tells
        whether an event is there. An older copy gives the same numbers again, to other events.
        """
        seen, self.newest_event = self.newest_event, newest
        is_back = self.lost_connection or (seen is not None and not is_known(seen))
        self.lost_connection = False
        if self.began_at is None or is_back:
            self.began_at = now
        return is_back


_watch = Watch()
_lock = threading.Lock()


def trusted_since(now: datetime) -> datetime:
    """Return since when nothing was lost from this database, as far as this process can tell.

    Every sweep and every submission asks, so that a process hardly ever knows less than an older copy does.
    """
    row = make_sure(now)
    with _lock:
        is_back = _watch.went_back(now, _newest_event(), _is_known)
        began_at = _watch.began_at or now
    if is_back:
        logger.warning(WENT_BACK)
        mark_restored(WENT_BACK, now=now)
        return now
    return max(began_at, row.trusted_since)


_thread = threading.local()


def note_connection(**_: object) -> None:
    """Notice that this thread connects to the database again, after its first time."""
    if getattr(_thread, "has_connected", False):
        with _lock:
            _watch.lost_connection = True
    _thread.has_connected = True


connection_created.connect(note_connection)


def begin(now: datetime) -> None:
    """Begin to watch the database, as a new worker process does."""
    with _lock:
        _watch.began_at, _watch.newest_event, _watch.lost_connection = now, None, False


def may_send(now: datetime) -> bool:
    """Tell whether this site may send anything for the jobs of this database."""
    return make_sure(now).instance == settings.INSTANCE


def owner() -> str:
    """Return the name of the instance that this database belongs to; "" before its first worker started."""
    return Installation.objects.filter(pk=1).values_list("instance", flat=True).first() or ""


def is_foreign() -> bool:
    """Tell whether the database belongs to an instance of another name, so that nothing is sent from here."""
    return owner() not in {"", settings.INSTANCE}


def mark_restored(reason: str, *, now: datetime, take_over: bool = False) -> int:
    """Let every request that is not sent be looked up until it is certain that Vertex AI does not have it.

    `take_over` makes the database this instance's. Returns how many requests that are.
    """
    with transaction.atomic():
        defaults = {"instance": settings.INSTANCE, "trusted_since": now}
        row, _ = Installation.objects.select_for_update().get_or_create(pk=1, defaults=defaults)
        row.trusted_since, row.restored_reason = now, reason
        if take_over:
            row.instance = settings.INSTANCE
        row.save()
        unsent = [JobState.AWAITING_APPROVAL, JobState.APPROVED, JobState.SUBMITTING]
        return Job.objects.filter(state__in=unsent).update(attempted_at=now)


def make_sure(now: datetime) -> Installation:
    """Return the row; the first worker of a database writes it, with the name of its own instance."""
    row = Installation.objects.filter(pk=1).first()
    if row is None:
        defaults = {"instance": settings.INSTANCE, "trusted_since": now}
        row, _ = Installation.objects.get_or_create(pk=1, defaults=defaults)
    return row


def _newest_event() -> EventMark | None:
    """The newest change of a state; retention never removes one."""
    events = JobEvent.objects.filter(kind=JobEvent.Kind.STATE).order_by("-pk")
    return events.values_list("pk", "job_id", "recorded_at").first()


def _is_known(mark: EventMark) -> bool:
    pk, job_id, recorded_at = mark
    return JobEvent.objects.filter(pk=pk, job_id=job_id, recorded_at=recorded_at).exists()
