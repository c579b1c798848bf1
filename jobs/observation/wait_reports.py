"""Record what Vertex AI reports about a job while the job waits for machines: a reason to wait, not an end.

"Resources are insufficient in region" was logged for more than an hour of a Spot job that waited in PENDING and later
ran (recorded in October 2026). The text comes as the error of an answer, or as a line of the service's log. The derived
column `Job.wait_error` keeps it until the wait is over.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobs import transitions
from jobs.bounds import bounded, digest_of
from jobs.diagnosis import diagnose
from jobs.models import Job, JobEvent, LogLine
from jobs.states import WAITING_AT_VERTEX
from jobs.timeline import BILLABLE, WAIT_REPORTED
from jobs.vertex.logs import SERVICE

REASONS_TO_WAIT = frozenset({"stockout", "quota"})
"""Causes of which a line of the service's log shows that the job waits for them."""
MAX_WORDS = 500
MAX_LINES = 20
"""Latest lines of the service that are searched. An attempt begins with about six others."""


def record_report(job: Job, error: Mapping[str, Any], *, now: datetime, occurred_at: datetime | None = None) -> None:
    """Record an error of a job that has not ended, once for each wait."""
    words = first_line(error)
    key = f"reported:{digest_of(words)[:40]}"
    if is_waiting(job):
        message = f"Vertex AI reported while the job waited: {words}"
        key += f":{job.waiting_again_since.isoformat()}" if job.waiting_again_since is not None else ""
    elif job.state in BILLABLE:
        message = f"Vertex AI reported while the job was running: {words}"
    else:
        message = f"Vertex AI reported while the job was not running: {words}"
    transitions.record_event(
        job,
        JobEvent.Kind.ERROR_LEARNED,
        now=now,
        occurred_at=occurred_at,
        reason=WAIT_REPORTED,
        message=message,
        once_key=key,
        detail={"error": dict(error), "words": bounded(words, MAX_WORDS)},
    )


def record_logged_report(job: Job, *, now: datetime) -> None:
    """Record the latest reason to wait that the service's log shows for the present wait of a job."""
    job = Job.objects.get(pk=job.pk)
    since = job.waiting_again_since or job.submitted_at
    if not is_waiting(job) or since is None:
        return
    lines = LogLine.objects.filter(job=job, replica=SERVICE, timestamp__gte=since, timestamp__lte=now)
    for message, at in lines.order_by("-timestamp", "-pk").values_list("message", "timestamp")[:MAX_LINES]:
        known = diagnose(None, message)
        if known is not None and known.cause in REASONS_TO_WAIT:
            if bounded(first_line({"message": message}), MAX_WORDS) != job.wait_error:
                record_report(job, {"message": message}, now=now, occurred_at=at)
            return


def is_waiting(job: Job) -> bool:
    """Return whether the job, or the custom job of a running pipeline, waits for machines."""
    return job.state in WAITING_AT_VERTEX or (job.state in BILLABLE and job.custom_job_state in WAITING_AT_VERTEX)


def first_line(error: Mapping[str, Any] | None) -> str:
    """Return the first line of the message of a google.rpc.Status."""
    return str((error or {}).get("message", "")).strip().partition("\n")[0]
