"""Numbers of this process that only ever grow, until they are added to those of the database.

Web processes and workers run on different machines, so a counter in one process's memory would show Prometheus a part
of the truth, another one at each scrape. Each worker adds what it counted to rows of the database every few seconds
(`jobs.upkeep.heartbeats`); any web process reads them. A process that is killed loses those seconds.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

SUBMIT_BUCKETS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds in seconds of the histogram of submissions, the last but infinity."""
SERVICES = (
    "Artifact Registry",
    "Cloud Billing",
    "Cloud Logging",
    "Cloud Monitoring",
    "Cloud Quotas",
    "Cloud Storage",
    "IAM",
    "Resource Manager",
    "Service Usage",
    "Vertex AI",
)
"""Whom a call may be made to; any other is counted as "other", so that labels stay few."""
OTHER = "other"

Key = tuple[str, str]
"""A metric's name and its labels, joined by "|"."""
_lock = threading.Lock()
_counted: Counter[Key] = Counter()


def count_call(service: str, status: int | None) -> None:
    """Count one call to Google by service and class of its status: 2xx, 4xx, 429, 5xx, or none without an answer."""
    _add("api_calls", f"{service if service in SERVICES else OTHER}|{code_class(status)}")


def code_class(status: int | None) -> str:
    """Return what a status counts as: "2xx", "3xx", "4xx", "429" (limits), "5xx", "none" where no answer came."""
    if status is None:
        return "none"
    return "429" if status == 429 else f"{min(max(status // 100, 1), 5)}xx"


def count_submission(seconds: float) -> None:
    """Count a job that Vertex AI has taken, `seconds` after it was allowed to be sent."""
    place = bisect_left(SUBMIT_BUCKETS, seconds)
    bound = f"{SUBMIT_BUCKETS[place]:g}" if place < len(SUBMIT_BUCKETS) else "+Inf"
    _add("submit_bucket", bound)
    _add("submit_seconds", "", max(seconds, 0.0))


def take() -> Mapping[Key, float]:
    """Return what was counted since the last time, and begin anew."""
    with _lock:
        taken = dict(_counted)
        _counted.clear()
    return taken


def put_back(taken: Mapping[Key, float]) -> None:
    """Count again what was taken and could not be kept."""
    for (metric, labels), amount in taken.items():
        _add(metric, labels, amount)


def _add(metric: str, labels: str, amount: float = 1.0) -> None:
    with _lock:
        _counted[metric, labels] += amount  # type: ignore[assignment]  # a Counter adds any number
