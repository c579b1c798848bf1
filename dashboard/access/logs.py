"""Loaders of a job's kept log: its lines by replica and time, and who wrote any."""

import re
from datetime import datetime

from django.db.models import Q, QuerySet

from jobs.models import Job, LogFeed, LogLine, ShownJob
from jobs.timeline import ATTEMPT_BEGINS

SERVICE = "service"
"""The replica that stands for Vertex AI's own lines."""
LAST_ERRORS = 5
"""Lines of an end; the very last often says no more than that the job failed."""
LAST_OUTPUT = 200
"""Lines of programs that are searched for the reason of a failure."""


def log_lines(
    job: Job, *, replica: str = "", since: datetime | None = None, until: datetime | None = None
) -> QuerySet[LogLine]:
    """Return the kept lines in their order: of one replica, of all whose names begin with its words, or of all ("").

    From `since` on and before `until`.
    """
    wanted = Q()
    if replica:
        wanted &= Q(replica=replica) | Q(replica__startswith=f"{replica} ")
    if since is not None:
        wanted &= Q(timestamp__gte=since)
    if until is not None:
        wanted &= Q(timestamp__lt=until)
    return job.log_lines.filter(wanted).order_by("timestamp", "pk")


def lines_from(lines: QuerySet[LogLine], first: LogLine) -> QuerySet[LogLine]:
    """Return those that stand at or after a line."""
    return lines.filter(Q(timestamp__gt=first.timestamp) | Q(timestamp=first.timestamp, pk__gte=first.pk))


def line_before(lines: QuerySet[LogLine], first: LogLine) -> LogLine | None:
    """Return the line right before one; None where it is the first."""
    return lines.filter(Q(timestamp__lt=first.timestamp) | Q(timestamp=first.timestamp, pk__lt=first.pk)).last()


def log_tail(lines: QuerySet[LogLine], limit: int) -> list[LogLine]:
    """Return the newest `limit` of the lines, oldest of them first."""
    return list(lines.reverse()[:limit])[::-1]


def log_replicas(job: Job) -> list[str]:
    """Return the names of the replicas that wrote anything, in the order in which people count: trial 2, trial 10."""
    names = job.log_lines.order_by().values_list("replica", flat=True).distinct()
    return sorted(
        names, key=lambda name: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
    )


def service_errors(job: Job) -> list[str]:
    """Return what the service itself told as an error last, the newest first."""
    lines = job.log_lines.filter(replica=SERVICE, severity="ERROR").order_by("-timestamp", "-pk")
    found = list(lines.values_list("message", flat=True)[:LAST_ERRORS])
    return [str(job.hide(message)) for message in found] if isinstance(job, ShownJob) else found


def program_output(job: Job) -> str:
    """Return the newest lines that the job's replicas wrote, the oldest first, as one text."""
    lines = job.log_lines.exclude(replica=SERVICE).order_by("-timestamp", "-pk")
    found = list(lines.values_list("message", flat=True)[:LAST_OUTPUT])[::-1]
    return "\n".join(str(job.hide(message)) if isinstance(job, ShownJob) else message for message in found)


def attempt_beginnings(job: Job) -> list[datetime]:
    """Return when the service said that an attempt begins, as far as its lines are kept."""
    lines = job.log_lines.filter(replica=SERVICE, message=ATTEMPT_BEGINS)
    return list(lines.order_by("timestamp").values_list("timestamp", flat=True))


def silent_log(job: Job) -> LogFeed | None:
    """Return the log feed of the project while Cloud Logging does not answer, else None; no query for a whole log."""
    if job.log_complete or not job.remote_name:
        return None
    return LogFeed.objects.filter(project=job.project, failing_since__isnull=False).first()
