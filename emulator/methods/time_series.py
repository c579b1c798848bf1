"""Cloud Monitoring's timeSeries.list over CPU utilization of replica processes, without accelerators, and quota usage.

Supported in a filter: = and != of metric.type, metric.labels.*, resource.type and resource.labels.*, AND OR NOT,
parentheses. Aggregation and pages are not supported: all points of the stored samples fit into one response.
"""

from collections.abc import Callable

from emulator.emulator import Emulator
from emulator.methods import quotas
from emulator.protocol import filters, timestamps
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid
from emulator.protocol.filters import Comparison
from emulator.protocol.names import project_number
from emulator.replicas.usage import Sample

METRIC, RESOURCE = "ml.googleapis.com/training/cpu/utilization", "cloudml_job"
KNOWN = ("filter", "interval.startTime", "interval.endTime", "view", "pageSize")
Fields = dict[str, str]


def list_(emulator: Emulator, call: Call) -> Document:
    """Return the series of the replicas that the filter selects, newest point first, `{}` if none matches."""
    call.check_arguments(*KNOWN)
    tree = filters.parse(call.query.get("filter", ""))
    if tree is None:
        raise invalid("Field filter had an invalid value: a metric type is required.")
    until = _moment(call, "interval.endTime")
    since = _moment(call, "interval.startTime") if "interval.startTime" in call.query else until
    test = filters.compile_tree(tree, _test)
    series: dict[tuple[str, str], list[Sample]] = {}
    for sample in reversed(emulator.processes.usage.samples):
        project, job_id = sample.job.split("/")[1], sample.job.rpartition("/")[2]
        fields = {
            "metric.type": METRIC,
            "resource.type": RESOURCE,
            "resource.labels.job_id": job_id,
            "resource.labels.task_name": sample.replica,
        }
        is_ours = project_number(project) == project_number(call.params["project"])
        if is_ours and since <= sample.until <= until and test(fields):
            series.setdefault((sample.job, sample.replica), []).append(sample)
    found = [_series(call.params["project"], *key, samples) for key, samples in series.items()]
    found += quotas.usage_series(emulator, call.params["project"], test)
    return {"timeSeries": found} if found else {}


def _moment(call: Call, name: str) -> float:
    try:
        return timestamps.parse_time(call.query[name])
    except (KeyError, ValueError):
        raise invalid(f"Field {name} had an invalid value: a time is required.") from None


def _test(one: Comparison) -> Callable[[Fields], bool]:
    if one.operator not in ("=", "!="):
        raise invalid(f"Field filter had an invalid value: {one.operator} is not supported.")
    return lambda fields: (fields.get(one.field, "") == one.value) == (one.operator == "=")


def _series(project: str, job: str, replica: str, samples: list[Sample]) -> Document:
    return {
        "metric": {"type": METRIC},
        "resource": {
            "type": RESOURCE,
            "labels": {"project_id": project, "job_id": job.rpartition("/")[2], "task_name": replica},
        },
        "metricKind": "GAUGE",
        "valueType": "DOUBLE",
        "points": [
            {
                "interval": {
                    "startTime": timestamps.format_time(sample.until),
                    "endTime": timestamps.format_time(sample.until),
                },
                "value": {"doubleValue": sample.share},
            }
            for sample in samples
        ],
    }
