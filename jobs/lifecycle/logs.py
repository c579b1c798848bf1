"""The log of watched jobs is read by the observer and its tail kept, so that a page never waits for Cloud Logging."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from jobs.lifecycle.connection import client
from jobs.lifecycle.restarts import reconcile
from jobs.models import Job, LogLine

KEPT_LINES = 2_000
"""Per job. The whole log stays in Cloud Logging."""
LINES_PER_READ = 1_000
AFTERMATH = timedelta(minutes=2)
"""Service lines still arrive for about a minute after a job's end (vertex-facts 10.4)."""
JOBS_PER_READ = 20
"""At most this many jobs a look, those read longest ago first: Cloud Logging allows about 60 reads a minute."""


def read_logs(jobs: Iterable[Job], now: datetime) -> None:
    """Read what is new in the log of each job and what it tells about restarts.

    Raises VertexError when Cloud Logging does not answer.
    """
    unread = [job for job in jobs if not job.log_complete]
    unread.sort(key=lambda job: (job.log_cursor_at is not None, job.log_cursor_at, job.pk))
    for job in unread[:JOBS_PER_READ]:
        if read_log(job, now):
            reconcile(job, now=now)


def read_log(job: Job, now: datetime) -> bool:
    """Read one job's new lines, keep the newest ones, and remember how far it came; return whether there were any."""
    after = job.log_cursor_at or job.submitted_at
    entries = client().log(job.project, job_ids=[job.remote_id], after=after, limit=LINES_PER_READ)
    LogLine.objects.bulk_create(
        [
            LogLine(
                job=job,
                timestamp=entry.timestamp,
                insert_id=entry.insert_id,
                replica=entry.replica,
                severity=entry.severity,
                message=entry.message,
            )
            for entry in entries
        ],
        ignore_conflicts=True,
    )
    job.log_cursor_at = max((entry.timestamp for entry in entries), default=after)
    ended_long_ago = job.ended_at is not None and now - job.ended_at > AFTERMATH
    job.log_complete = job.is_finished and ended_long_ago and len(entries) < LINES_PER_READ
    Job.objects.filter(pk=job.pk).update(log_cursor_at=job.log_cursor_at, log_complete=job.log_complete)
    if entries:
        _forget_oldest(job)
    return bool(entries)


def _forget_oldest(job: Job) -> None:
    """Keep the newest lines; the service's own are few and tell the restarts, so a flood does not push them out."""
    lines = LogLine.objects.filter(job=job).exclude(replica="service")
    newest = lines.order_by("-timestamp", "-pk").values_list("timestamp", flat=True)
    oldest_kept = newest[KEPT_LINES - 1 : KEPT_LINES].first()
    if oldest_kept is not None:
        lines.filter(timestamp__lt=oldest_kept).delete()
