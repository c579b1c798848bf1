"""Decide whether this database may send jobs, and since when it is known not to have been replaced by an older copy.

A restored backup, a copy of the database used for staging, or a replica that took over without the last commits does
not record everything that was sent. Three rules keep its jobs from being sent again:

- A database belongs to one instance, by name. A site with another name sends nothing.
- A request from before a worker process started is looked up at Vertex AI by its label before that worker sends it.
- If the row names another server or other tables than the present ones, or a worker misses an event it has seen, every
  unsent request is in doubt from then on, for all workers. It is looked up until it is certain that Vertex AI does not
  have it.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction

from jobs.models import Installation, Job, JobEvent, ResourceChange
from jobs.states import NOT_SENT

logger = logging.getLogger(__name__)

WENT_BACK = (
    "The database was restarted or replaced, or events are missing. "
    "Trainboard looks up requests at Vertex AI before it sends them."
)

EventMark = tuple[Any, ...]
"""The number, job and time of an event, which no two events share."""


@dataclass(slots=True)
class Watch:
    """What one worker process remembers of the database: since when it watches, and the newest event it has seen."""

    began_at: datetime | None = None
    newest_event: EventMark | None = None

    def misses_event(self, now: datetime, newest: EventMark | None, is_known: Callable[[EventMark], bool]) -> bool:
        """Store the newest event and return whether the one stored before is gone.

        `is_known` returns whether an event exists. An older copy assigns the same numbers again, to other events.
        """
        seen, self.newest_event = self.newest_event, newest
        is_gone = seen is not None and seen != newest and not is_known(seen)
        if self.began_at is None or is_gone:
            self.began_at = now
        return is_gone


_watch = Watch()
_lock = threading.Lock()


class Trust(NamedTuple):
    """What is known of a database that may have been replaced by an older copy."""

    since: datetime
    """Nothing was lost from then on. What was requested earlier may have been sent without a record here."""
    is_complete: bool
    """Whether nothing was ever lost. Only a process that watches since the database's first worker can know that."""
    restored_at: datetime | None
    """When the database was last found to be another one. Until then, jobs may have been sent without a row here."""


def trusted_since(now: datetime) -> datetime:
    """Return the time since which nothing was lost from this database, as far as this process knows."""
    return load_trust(now).since


def load_trust(now: datetime, row: Installation | None = None) -> Trust:
    """Return what this process knows of the database; `row` is that of the installation if it was just read.

    Every sweep and every submission calls this, so that a process rarely knows less than an older copy does.
    """
    row = row or load_installation(now)
    with _lock:
        # Retention never deletes a state change.
        events = JobEvent.objects.filter(kind=JobEvent.Kind.STATE).order_by("-pk")
        newest = events.values_list("pk", "job_id", "recorded_at").first()
        misses_event = _watch.misses_event(now, newest, _is_known)
        began_at = _watch.began_at or now
    if misses_event or row.identity != _identity():
        logger.warning(WENT_BACK)
        mark_restored(WENT_BACK, now=now)
        return Trust(now, is_complete=False, restored_at=now)
    is_complete = not row.restored_reason and began_at <= row.trusted_since
    return Trust(max(began_at, row.trusted_since), is_complete, row.trusted_since if row.restored_reason else None)


def restored_at() -> datetime | None:
    """Return when the database was last found to be another one, or None; see `Trust`."""
    rows = Installation.objects.filter(pk=1).exclude(restored_reason="")
    return rows.values_list("trusted_since", flat=True).first()


def may_send(now: datetime) -> bool:
    """Return whether this site may send anything for the jobs of this database."""
    return load_installation(now).instance == settings.INSTANCE


def owner_instance() -> str:
    """Return the name of the instance that this database belongs to, or "" before its first worker has started."""
    return Installation.objects.filter(pk=1).values_list("instance", flat=True).first() or ""


def is_external() -> bool:
    """Return whether the database belongs to another instance, so that nothing is sent from here."""
    return owner_instance() not in {"", settings.INSTANCE}


def mark_restored(reason: str, *, now: datetime, take_over: bool = False) -> int:
    """Mark every unsent request to be looked up until it is certain that Vertex AI does not have it.

    Open changes of persistent resources are in doubt as well: a reboot is not sent again. `take_over` assigns the
    database to this instance. Returns the number of marked requests.
    """
    with transaction.atomic():
        load_installation(now)
        columns = {"trusted_since": now, "restored_reason": reason, "identity": _identity()}
        columns |= {"instance": settings.INSTANCE} if take_over else {}
        Installation.objects.filter(pk=1).update(**columns)
        ResourceChange.objects.filter(ended_at=None).update(attempted_at=now)
        return Job.objects.filter(state__in=NOT_SENT).update(attempted_at=now)


def load_installation(now: datetime) -> Installation:
    """Return the installation row. The first worker of a database creates it with the name of its own instance."""
    row = Installation.objects.filter(pk=1).first()
    if row is None:
        defaults = {"instance": settings.INSTANCE, "trusted_since": now, "identity": _identity()}
        row, _ = Installation.objects.get_or_create(pk=1, defaults=defaults)
    elif not row.identity:  # created by a release that kept it in memory
        row.identity = _identity()
        Installation.objects.filter(pk=1, identity="").update(identity=row.identity)
    return row


def _is_known(mark: EventMark) -> bool:
    pk, job_id, recorded_at = mark
    return JobEvent.objects.filter(pk=pk, job_id=job_id, recorded_at=recorded_at).exists()


def _identity() -> str:
    """Return a value that changes when the database is restarted, fails over or is restored.

    PostgreSQL: the start time of the server, and the numbers of the table and its file, which TRUNCATE also changes.
    SQLite: the number of the file.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), %s::regclass::oid,"
                " pg_relation_filenode(%s))",
                [Job._meta.db_table, Job._meta.db_table],
            )
            return str(cursor.fetchone()[0])
    try:
        return str(Path(str(connection.settings_dict["NAME"])).stat().st_ino)
    except OSError:
        return "in memory"
