"""Counters of this process, added regularly to the counters in the database.

Web processes and workers run on different machines, so Prometheus would see another part of the counts at each scrape
if each process kept its own. Each worker adds its counts to rows of the database every few seconds
(`jobs.upkeep.heartbeats`), and any web process reads these rows. A process that is killed loses a few seconds.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

SUBMIT_BUCKETS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds, in seconds, of the histogram of submissions; infinity follows."""
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
"""Services that calls are counted for. Others count as "other", which limits the number of label values."""
OTHER = "other"

Key = tuple[str, str]
"""The name of a metric, and its labels joined by "|"."""
_lock = threading.Lock()
_counted: Counter[Key] = Counter()


def count_call(service: str, status: int | None) -> None:
    """Count one call to Google by service and class of its status: 2xx, 4xx, 429, 5xx, or none without an answer."""
    _add("api_calls", f"{service if service in SERVICES else OTHER}|{code_class(status)}")


def code_class(status: int | None) -> str:
    """Return the class of a status: "2xx", "3xx", "4xx", "429" (rate limit), "5xx", or "none" without an answer."""
    if status is None:
        return "none"
    return "429" if status == 429 else f"{min(max(status // 100, 1), 5)}xx"


def count_submission(seconds: float) -> None:
    """Count a job that Vertex AI has accepted, `seconds` after it was approved for submission."""
    place = bisect_left(SUBMIT_BUCKETS, seconds)
    bound = f"{SUBMIT_BUCKETS[place]:g}" if place < len(SUBMIT_BUCKETS) else "+Inf"
    _add("submit_bucket", bound)
    _add("submit_seconds", "", max(seconds, 0.0))


def take() -> Mapping[Key, float]:
    """Return the counts since the last call and reset them."""
    with _lock:
        taken = dict(_counted)
        _counted.clear()
    return taken


def put_back(taken: Mapping[Key, float]) -> None:
    """Add back counts that were taken but could not be stored."""
    for (metric, labels), amount in taken.items():
        _add(metric, labels, amount)


def _add(metric: str, labels: str, amount: float = 1.0) -> None:
    with _lock:
        _counted[metric, labels] += amount  # type: ignore[assignment]  # a Counter adds any number
