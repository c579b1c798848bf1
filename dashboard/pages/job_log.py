"""The tail of a job's log, of all replicas or of one."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.access import Job, Request, job_for, log_replicas, log_tail, silent_log
from jobs import lifecycle

TAIL_LINES = 200


@require_safe
def log(request: Request, pk: UUID) -> HttpResponse:
    """Return the log's part of the page; it keeps asking for itself until the job has ended and its log is read."""
    return render(request, "job.html#log", log_context(request, job_for(request, pk), timezone.now()))


def log_context(request: Request, job: Job, now: datetime) -> dict[str, Any]:
    """Return the newest lines of the replica that the address names, or of all; and have the log read meanwhile."""
    lifecycle.want_log(job, now=now)
    replicas = log_replicas(job)
    replica = request.GET.get("replica", "")
    replica = replica if replica in replicas else ""
    may_grow = not (job.is_finished and (job.log_complete or not job.remote_name))
    return {
        "now": now,
        "job": job,
        "lines": log_tail(job, replica=replica, limit=TAIL_LINES),
        "tail_lines": TAIL_LINES,
        "replicas": replicas,
        "replica": replica,
        "may_grow": may_grow,
        "follows": may_grow and request.GET.get("follow") != "no",
        "silent_log": silent_log(job),
    }
