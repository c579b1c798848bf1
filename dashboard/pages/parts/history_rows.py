"""One job as a record of the history's exports: plain values, without any field that may contain a secret."""

from datetime import datetime
from typing import Any

from dashboard.drawing.figures import iso
from jobs import timeline
from jobs.cost import MICRO
from jobs.explain import has_unknown_run
from jobs.models import Job

COLUMNS = (
    "id", "name", "team", "person", "kind", "state", "strategy", "machines", "project", "region", "requested_at",
    "submitted_at", "started_at", "ended_at", "waited_seconds", "ran_seconds", "restarts", "usd_per_hour",
    "estimate_usd", "cost_usd",
)  # fmt: skip


def as_record(job: Job, now: datetime) -> dict[str, Any]:
    """Return the record of a job under COLUMNS: times in ISO 8601 (UTC), money in USD, None for missing values."""
    cost = timeline.cost_so_far(job, now) if job.started_at else None
    waited, ran = timeline.waited(job, now), timeline.running(job, now)
    is_unknown = has_unknown_run(job)
    values = (
        str(job.pk), job.display_name, job.team.name, job.owner.get_username(), job.kind, job.state, job.strategy,
        job.machines, job.project, job.region, _moment(job.requested_at), _moment(job.submitted_at),
        _moment(job.started_at), _moment(job.ended_at), None if is_unknown else round(waited.total_seconds()),
        None if is_unknown else round(ran.total_seconds()), job.restarts, job.hourly_usd, job.estimate_usd,
        None if cost is None else cost.quantize(MICRO),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _moment(value: datetime | None) -> str | None:
    return None if value is None else iso(value)
