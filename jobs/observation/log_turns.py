"""Choose whose log is read next: viewed or just ended jobs first, then running jobs in turns.

The board shows progress and expected ends from the newest lines of every running job, so each one gets a turn. Cloud
Logging allows about sixty reads a minute and project. Turns use only part of them, so that a log that somebody views
stays up to date.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Q

from jobs.models import Job
from jobs.models.job import JobQuerySet

TAILS_PER_LOOK = 20
TURNS_SHARE = 4
"""Turns use at most a quarter of the reads allowed per minute."""
TURN_INTERVAL = timedelta(minutes=2)
"""Shortest time between two turns of a job."""


def wanted(unread: JobQuerySet, now: datetime) -> list[Job]:
    """Return the jobs whose own lines are wanted, those read longest ago first. Makes one query."""
    is_wanted = Q(log_wanted_until__gt=now) | Q(ended_at__isnull=False)
    jobs = unread.filter(is_wanted).order_by(F("log_cursor_at").asc(nulls_first=True), "pk")
    return list(jobs[:TAILS_PER_LOOK])


def next_turns(unread: JobQuerySet, now: datetime, room: int) -> list[Job]:
    """Return at most `room` running jobs whose turn it is and whose logs nobody views. Makes one query, or none.

    The jobs read longest ago come first.
    """
    minutes = settings.POLL_INTERVAL / timedelta(minutes=1)
    count = min(room, max(1, int(settings.LOG_READS_PER_MINUTE * minutes / TURNS_SHARE)))
    if count <= 0:
        return []
    is_due = Q(log_read_at=None) | Q(log_read_at__lte=now - TURN_INTERVAL)
    unwatched = Q(log_wanted_until=None) | Q(log_wanted_until__lte=now)
    running = unread.filter(is_due, unwatched, running_since__isnull=False, ended_at=None)
    return list(running.order_by(F("log_read_at").asc(nulls_first=True), "pk")[:count])


def is_turn(job: Job, now: datetime) -> bool:
    """Return whether a job was not read before within the present TURN_INTERVAL. Watched jobs are read more often."""
    interval = TURN_INTERVAL.total_seconds()
    return job.log_read_at is None or job.log_read_at.timestamp() // interval != now.timestamp() // interval


def is_watched(job: Job, now: datetime) -> bool:
    """Return whether somebody views the job's log. A turn reads only the log lines."""
    return job.log_wanted_until is not None and job.log_wanted_until > now
