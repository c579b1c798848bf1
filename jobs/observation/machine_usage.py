"""Read the machine usage of a running job from Cloud Monitoring: often while somebody views it, else now and then.

A failure is recorded with the job's metrics and never changes the job's state.
"""

from datetime import datetime, timedelta

from jobs import bounds, vertex
from jobs.clients import client
from jobs.metrics import Reading, Record, Totals
from jobs.models import Job, JobMetrics
from jobs.observation import cadence
from jobs.vertex.monitoring import METRICS

PAUSE = timedelta(minutes=1)
UNWATCHED_PAUSE = timedelta(minutes=10)
"""For a job at which nobody looks: often enough to see that it has been idle for an hour."""
LOOK_BACK = timedelta(hours=6)
"""Time span of each read. Older points that were never read are not drawn."""
SOURCE, BUSY, CPU = "Cloud Monitoring", "accelerator", "CPU"


def read_usage(job: Job, *, now: datetime, pause: timedelta = PAUSE) -> None:
    """Read what a job used since the last read, unless that is less than `pause` ago.

    Jobs with several sources have no single series.
    """
    if job.started_at is None or len(job.log_sources) != 1:
        return
    kept = JobMetrics.objects.filter(job=job).first() or JobMetrics(job=job)
    if kept.usage_read_at is not None and now - kept.usage_read_at < pause:
        return
    record = Record.load(kept.usage, Totals())
    kept.usage_read_at, kept.usage_error = now, ""
    try:
        with vertex.at_most(cadence.PROBE_SECONDS):
            _take(record, job, now)
    except vertex.VertexError as error:
        kept.usage_error = bounds.bounded(f"Cloud Monitoring returned nothing: {error}", 500)
    kept.usage = record.as_json()
    kept.accelerator_share = next((each.last[2] for each in record.series if each.name == BUSY and each.last), None)
    if kept._state.adding:
        kept.save()
    else:
        kept.save(update_fields=["usage", "accelerator_share", "usage_read_at", "usage_error"])


def _take(record: Record, job: Job, now: datetime) -> None:
    """Add the new points of each metric to the record. Points of one minute are averaged over all replicas."""
    (number,) = job.log_sources
    for name in METRICS:
        last = next((each.last[0] for each in record.series if each.name == name and each.last), 0.0)
        since = max(job.started_at or now, now - LOOK_BACK)
        minutes: dict[int, list[float]] = {}
        for at, share in client(job.acts_as).used(job.project, name, job_id=number, since=since, until=now):
            minute = int(at.timestamp()) // 60
            if (minute + 1) * 60 <= now.timestamp():
                minutes.setdefault(minute, []).append(share)
        for minute, shares in sorted(minutes.items()):
            if minute * 60 > last:
                reading = Reading(values={name: round(sum(shares) / len(shares), 4)})
                record.take(reading, minute * 60.0, SOURCE, owner="")
