"""What is known of the quotas of a project and region, as an assessment is given it."""

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta

from jobs.cost import QuotaState
from jobs.models import QuotaReading

MAX_AGE = timedelta(days=1)
"""Older readings are not shown: what they say may be long gone."""
RECENT = timedelta(seconds=30)
"""How long a process keeps what it has read: a preview is drawn again with every key."""
MAX_KEPT = 200

_lock = threading.Lock()
_kept: dict[tuple[str, str], tuple[datetime, Mapping[str, QuotaState]]] = {}


def recent_quotas(project: str, region: str, *, now: datetime) -> Mapping[str, QuotaState]:
    """Return the quotas of a region by metric, as they were known at most half a minute ago; at most one query."""
    key = (project, region)
    with _lock:
        kept = _kept.get(key)
        if kept is not None and timedelta() <= now - kept[0] <= RECENT:
            return kept[1]
    found = load_quotas(project, region, now=now)
    with _lock:
        if len(_kept) >= MAX_KEPT:
            _kept.clear()
        _kept[key] = now, found
    return found


def load_quotas(project: str, region: str, *, now: datetime) -> Mapping[str, QuotaState]:
    """Return the quotas of a region by metric: its own limits before those that hold for every region."""
    if "\x00" in project + region:  # as somebody may type it; no column holds one
        return {}
    rows = QuotaReading.objects.filter(project=project, region__in=["", region], read_at__gte=now - MAX_AGE)
    columns = ("metric", "limit", "used", "quota_id", "read_at")
    return {row[0]: QuotaState(*row) for row in rows.order_by("region").values_list(*columns)}


def forget() -> None:
    """Read anew at the next question."""
    with _lock:
        _kept.clear()
