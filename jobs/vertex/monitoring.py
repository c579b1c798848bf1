"""The usage of a job's machines in Cloud Monitoring: build requests and read their answers. Pure.

Custom training exports for each node the metrics that begin with `training` in the section `ml` of "Google Cloud
metrics" (docs: general/monitoring-metrics). The request follows the discovery document of monitoring v3. Its filter is
that of a working program (gist.github.com/leiterenato/0c2a138fd90825527e6bf63da94984ca). All read 2026-11-22.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

from jobs.vertex import wire

DEFAULT_ENDPOINT = "https://monitoring.googleapis.com"
METRICS = {"CPU": "training/cpu/utilization", "accelerator": "training/accelerator/utilization"}
"""From the name on pages to the metric type below ml.googleapis.com. Values are fractions, 0 to 1."""
MAX_POINTS = 5_000
Point = tuple[datetime, float]


def list_path(
    project: str, metric: str, job_id: str, *, since: datetime, until: datetime
) -> tuple[str, dict[str, str]]:
    """Return the path and the query of timeSeries.list for one metric of one job."""
    terms = (
        f"metric.type={wire.quoted(f'ml.googleapis.com/{METRICS[metric]}')}",
        f"resource.type={wire.quoted('cloudml_job')}",
        f"resource.labels.job_id={wire.quoted(job_id)}",
    )
    query = {
        "filter": " AND ".join(terms),
        "interval.startTime": wire.timestamp(since),
        "interval.endTime": wire.timestamp(until),
        "view": "FULL",
    }
    return f"/v3/projects/{quote(project, safe='')}/timeSeries", query


def points(value: Any) -> Iterator[Point]:
    """Yield the points of a series that have a time and a number."""
    listed = wire.mapping(value).get("points")
    for each in listed if isinstance(listed, list) else []:
        point = wire.mapping(each)
        at = wire.moment(wire.mapping(point.get("interval")).get("endTime"))
        share = wire.mapping(point.get("value")).get("doubleValue")
        if at is not None and isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1:
            yield at, float(share)
