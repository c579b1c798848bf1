"""Quota limits and use as Google returns them: build requests and read their answers. Pure.

Limits: Cloud Quotas v1, projects.locations.services.quotaInfos.list. A DimensionsInfo without a region applies to the
regions that have none of their own, and -1 is no limit. Use: Cloud Monitoring's allocation usage on consumer_quota.
Sources: docs.cloud.google.com/docs/quotas/reference/rest/v1 and .../monitoring/alerts/using-quota-metrics, both read
2026-11-23; the discovery document of monitoring v3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from jobs.vertex import wire

SERVICE = "aiplatform.googleapis.com"
PREFIX = f"{SERVICE}/custom_model_training"
"""Prefix of the metrics that custom training uses. The many others are not read."""
UNLIMITED = -1
SPAN = timedelta(hours=26)
"""Allocation usage is written at least once a day, even if it does not change."""


@dataclass(frozen=True, slots=True)
class QuotaLimit:
    """A limit of a metric, without its service, in a region. Region "" is for those that have no limit of their own."""

    metric: str
    region: str
    limit: int
    quota_id: str


def infos_path(project: str) -> str:
    """Return the path of quotaInfos.list for Vertex AI."""
    return f"/v1/projects/{quote(project, safe='')}/locations/global/services/{SERVICE}/quotaInfos"


def usage_path(project: str, *, now: datetime) -> tuple[str, dict[str, str]]:
    """Return the path and the query of timeSeries.list for the use of Vertex AI's quotas."""
    terms = (
        'metric.type="serviceruntime.googleapis.com/quota/allocation/usage"',
        'resource.type="consumer_quota"',
        f"resource.labels.service={wire.quoted(SERVICE)}",
    )
    query = {
        "filter": " AND ".join(terms),
        "interval.startTime": wire.timestamp(now - SPAN),
        "interval.endTime": wire.timestamp(now),
        "view": "FULL",
    }
    return f"/v3/projects/{quote(project, safe='')}/timeSeries", query


def limits_in(info: Any) -> Iterator[QuotaLimit]:
    """Yield the limits of training in one QuotaInfo. Other metrics and unreadable values are skipped."""
    found = wire.mapping(info)
    metric, quota_id = wire.text(found.get("metric")), wire.text(found.get("quotaId"))
    listed = found.get("dimensionsInfos")
    if not metric.startswith(PREFIX) or not isinstance(listed, list):
        return
    for each in map(wire.mapping, listed):
        dimensions = wire.mapping(each.get("dimensions"))
        value = wire.whole(wire.mapping(each.get("details")).get("value"))
        if value is not None and set(dimensions) <= {"region"}:
            region = wire.text(dimensions.get("region"))
            yield QuotaLimit(
                metric.removeprefix(f"{SERVICE}/")[:100], region[:40], max(value, UNLIMITED), quota_id[:200]
            )


def usage_in(series: Any) -> tuple[tuple[str, str], int] | None:
    """Return ((metric, region), used) of one series, by its newest point, or None for any other series."""
    found = wire.mapping(series)
    metric = wire.text(wire.mapping(wire.mapping(found.get("metric")).get("labels")).get("quota_metric"))
    region = wire.text(wire.mapping(wire.mapping(found.get("resource")).get("labels")).get("location"))
    points = found.get("points")
    newest = wire.mapping(points[0]) if isinstance(points, list) and points else {}
    used = wire.whole(wire.mapping(newest.get("value")).get("int64Value"))
    if not metric.startswith(PREFIX) or used is None or used < 0:
        return None
    return (metric.removeprefix(f"{SERVICE}/"), region), used
