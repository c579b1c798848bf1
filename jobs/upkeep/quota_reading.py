"""Read the limits and use of the training quotas of every team's project, every ten minutes."""

from datetime import datetime, timedelta

from jobs import known_quotas
from jobs.clients import account_of, platform_client
from jobs.models import QuotaReading, Team
from jobs.observation.cadence import Stopwatch
from jobs.observation.failures import record_failure
from jobs.queue import claims
from jobs.vertex import NotFound, PermissionDenied, PlatformClient, Refused
from jobs.vertex.quotas import QuotaLimit

UPKEEP = "quotas"
INTERVAL = timedelta(minutes=10)
MAX_PROJECTS = 50
MAX_ROWS = 5_000
"""Limit of rows for one project. Some 60 metrics in 40 regions need about half of it."""
KEPT = timedelta(days=7)
PORTION = 500


def read_when_due(now: datetime) -> None:
    """Read the quotas if the last read was ten minutes ago. Errors of single projects are stored on the row."""
    held = claims.claim_upkeep(UPKEEP, now)
    if held is None:
        return
    watch = Stopwatch(now)
    with record_failure(held, now=now):
        result: dict[str, str | int] = {}
        for project in sorted({project for (project,) in Team.objects.of_each_project()})[:MAX_PROJECTS]:
            claims.keep_poll(held, now=watch.now)
            try:
                result[project] = read_project(platform_client(account_of(project)), project, now=now)
            except (PermissionDenied, NotFound, Refused) as error:
                result[project] = str(error)[:300]
        refused = [f"{project}: {words}" for project, words in result.items() if isinstance(words, str)]
        claims.release_poll(
            held, due_at=now + INTERVAL, answered_at=now, result=result, last_error="; ".join(refused)[:2_000]
        )


def read_project(platform: PlatformClient, project: str, *, now: datetime) -> int:
    """Read and save the training quotas of a project, and return how many. Raise VertexError and change nothing.

    If a region has usage but no limit of its own, the limit of all regions is saved for it.
    """
    limits = {(limit.metric, limit.region): limit for limit in platform.quota_limits(project, most=MAX_ROWS)}
    used = platform.quota_usage(project, now=now)
    for metric, region in set(used) - set(limits):
        if (general := limits.get((metric, ""))) is not None:
            limits[metric, region] = QuotaLimit(metric, region, general.limit, general.quota_id)
    rows = [
        QuotaReading(
            project=project, region=each.region, metric=each.metric, quota_id=each.quota_id, limit=each.limit,
            used=used.get(key, 0) if each.region else None, read_at=now,
        )
        for key, each in sorted(limits.items())
    ]  # fmt: skip
    QuotaReading.objects.bulk_create(
        rows, batch_size=PORTION, update_conflicts=True, unique_fields=["project", "region", "metric"],
        update_fields=["quota_id", "limit", "used", "read_at"],
    )  # fmt: skip
    QuotaReading.objects.filter(project=project, read_at__lt=now - KEPT).delete()
    known_quotas.forget()
    return len(rows)
