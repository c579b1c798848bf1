"""Quota limits and usage from the capacity plan: Cloud Quotas' quotaInfos and Monitoring's allocation usage.

A metric that the plan does not name has no limit here and is not listed. Sources: "REST Resource:
projects.locations.services.quotaInfos" (docs.cloud.google.com/docs/quotas, read 2026-11-23), and the metric
serviceruntime.googleapis.com/quota/allocation/usage on consumer_quota ("Chart and monitor quota metrics", same date).
"""

from collections.abc import Callable, Iterator

from emulator.capacity.demand import METRIC_PREFIX
from emulator.emulator import Emulator
from emulator.protocol import paging, timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.names import project_number

SERVICE = "aiplatform.googleapis.com"
USAGE, RESOURCE = "serviceruntime.googleapis.com/quota/allocation/usage", "consumer_quota"


def list_infos(emulator: Emulator, call: Call) -> Document:
    """Return a page of the quotas that the plan limits, ordered by metric."""
    call.check_arguments("pageSize", "pageToken")
    project, service = call.params["project"], call.params["service"]
    limits: dict[str, dict[str, int]] = {}
    plan = emulator.capacity_plans.show()["plan"].get("quotas", {}) if service == SERVICE else {}
    for region, of_region in plan.items():
        for metric, limit in of_region.items():
            limits.setdefault(metric, {})[region] = limit
    position = paging.read_token(call.query.get("pageToken", ""), "quotaInfos", project)
    size = paging.page_size(call.query.get("pageSize", ""))
    rest = sorted(metric for metric in limits if position is None or metric > str(position[0]))
    page: Document = {"quotaInfos": [_info(project, metric, limits[metric]) for metric in rest[:size]]}
    if len(rest) > size:
        page["nextPageToken"] = paging.make_token([rest[size - 1]], "quotaInfos", project)
    return page


def usage_series(emulator: Emulator, project: str, test: Callable[[dict[str, str]], bool]) -> Iterator[Document]:
    """Yield a series with one current point for each quota that is in use and that `test` selects."""
    at = timestamps.format_time(emulator.clock.now())
    for region, used in emulator.capacity_plans.show()["used"].items():
        for metric, amount in used["metrics"].items():
            labels = {"service": SERVICE, "location": region, "project_id": project}
            named = {"quota_metric": METRIC_PREFIX + metric}
            fields = {"metric.type": USAGE, "resource.type": RESOURCE}
            fields |= {f"resource.labels.{key}": value for key, value in labels.items()}
            fields |= {f"metric.labels.{key}": value for key, value in named.items()}
            if test(fields):
                yield {
                    "metric": {"type": USAGE, "labels": named},
                    "resource": {"type": RESOURCE, "labels": labels},
                    "metricKind": "GAUGE",
                    "valueType": "INT64",
                    "points": [{"interval": {"startTime": at, "endTime": at}, "value": {"int64Value": str(amount)}}],
                }


def _info(project: str, metric: str, limits: dict[str, int]) -> Document:
    quota_id = "".join(part.capitalize() for part in metric.split("_")) + "PerProjectPerRegion"
    parent = f"projects/{project_number(project)}/locations/global/services/{SERVICE}"
    return {
        "name": f"{parent}/quotaInfos/{quota_id}",
        "quotaId": quota_id,
        "metric": METRIC_PREFIX + metric,
        "service": SERVICE,
        "containerType": "PROJECT",
        "dimensions": ["region"],
        "isPrecise": True,
        "quotaIncreaseEligibility": {"isEligible": True},
        "dimensionsInfos": [
            {
                "dimensions": {"region": region},
                "details": {"value": str(limit)},
                "applicableLocations": [region],
            }
            for region, limit in sorted(limits.items())
        ],
    }
