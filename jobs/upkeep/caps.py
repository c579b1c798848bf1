"""Watch jobs whose cost approaches or reaches their cap. Each time is recorded as an event.

At the cap the job is cancelled, unless the policy that assessed it forbids that. The cap is set by the requester or an
approver.
"""

from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from jobs import transitions
from jobs.cost import format_usd
from jobs.isolation import take_each
from jobs.models import Job, JobEvent
from jobs.queue import claims
from jobs.upkeep.spending import cost_of, last_known

NEAR_PERCENT, REACHED_PERCENT = 80, 100
MAX_UNSEEN = timedelta(minutes=10)
"""If polls have failed for longer, a job counts as running: a cap must hold while Vertex AI cannot be listed.

A pause of the sweep does not count: after a time without the site, or a step of the clock, polls come first.
"""
AT_ONCE = 500
"""Jobs handled by one sweep, those that started first. The rest wait until some of these have ended."""


def watch_caps(now: datetime) -> int:
    """Record an event for each running job that has reached 80 or 100 percent of its cap. Return how many events.

    Ended jobs are left out, because their cap does not matter any more.
    """
    keys = list(capped_jobs().order_by("started_at", "pk").values_list("pk", flat=True)[:AT_ONCE])
    rows = Job.objects.filter(pk__in=keys).select_related("last_seen").order_by("started_at", "pk")
    jobs = list(rows.defer("spec", "estimate", "error", "log_sources"))
    polled_since = claims.swept_since(now)
    return take_each(jobs, lambda job: _watch(job, now, polled_since), what="jobs with a cap")


def capped_jobs() -> QuerySet[Job]:
    """Select the jobs that have started, have not ended, and have not reached their cap."""
    return Job.objects.remote().filter(
        cap_usd__isnull=False, cap_reported__lt=REACHED_PERCENT, started_at__isnull=False
    )


def _watch(job: Job, now: datetime, polled_since: datetime | None) -> int:
    known_until = last_known(job, now)
    is_unseen = now - max(known_until, polled_since or known_until) > max(MAX_UNSEEN, 4 * settings.POLL_INTERVAL)
    usd = cost_of(job, now if is_unseen else known_until)
    assert job.cap_usd is not None
    if usd is None:
        return 0
    doubt = f" Vertex AI was last observed at {known_until:%H:%M} UTC; this assumes that it still runs." * is_unseen
    if usd >= job.cap_usd:
        return int(_record(job, JobEvent.Kind.CAP_REACHED, usd, REACHED_PERCENT, now, doubt))
    if job.cap_reported < NEAR_PERCENT and usd * 100 >= job.cap_usd * NEAR_PERCENT:
        return int(_record(job, JobEvent.Kind.CAP_NEAR, usd, NEAR_PERCENT, now, doubt))
    return 0


def _record(job: Job, kind: JobEvent.Kind, usd: Decimal, percent: int, now: datetime, doubt: str) -> bool:
    assert job.cap_usd is not None
    cap = format_usd(job.cap_usd)
    has_cost = "may have cost" if doubt else "has cost"
    message = f"The job {has_cost} {format_usd(usd)}, {percent} % of its cap of {cap}.{doubt}"
    if percent == REACHED_PERCENT:
        message = f"The job {has_cost} {format_usd(usd)} and has reached its cap of {cap}.{doubt}"
    with transaction.atomic():
        is_new = transitions.record_event(
            job,
            kind,
            now=now,
            message=message,
            once_key=f"cap:{percent}",
            detail={"cost_usd": str(usd), "cap_usd": str(job.cap_usd)},
            cap_reported=percent,
        )
        if percent == REACHED_PERCENT and job.cap_cancels:
            message = f"The job has reached its cap of {cap}, so Trainboard cancels it."
            transitions.request_end(job, now=now, message=message)
    return is_new
