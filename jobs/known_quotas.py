"""Known quotas of a project and region, for assessments."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from jobs.bounds import is_storable
from jobs.cache import Recent
from jobs.catalog import REGIONS
from jobs.cost import QuotaState
from jobs.models import QuotaReading

MAX_AGE = timedelta(days=1)
"""Older readings are not shown because they may be outdated."""

COLUMNS = ("metric", "limit", "used", "quota_id", "read_at")


def recent_quotas(project: str, region: str, *, now: datetime) -> Mapping[str, QuotaState]:
    """Return the quotas of a region by metric, cached for ten seconds; at most one query."""
    return _recent.get((project, region), now)


def load_quotas(project: str, region: str, *, now: datetime) -> Mapping[str, QuotaState]:
    """Return the quotas of a region by metric: the region's own limits replace those for every region."""
    if "\x00" in project + region:  # a person may type it; no column can hold it
        return {}
    rows = QuotaReading.objects.filter(project=project, region__in=["", region], read_at__gte=now - MAX_AGE)
    return {row[0]: QuotaState(*row) for row in rows.order_by("region").values_list(*COLUMNS)}


def quotas_by_region(project: str, *, now: datetime) -> Mapping[str, Mapping[str, QuotaState]]:
    """Return the quotas by region and metric; those for every region are in each region of the catalogue. One query."""
    if not is_storable(project):
        return {}
    rows = QuotaReading.objects.filter(project=project, read_at__gte=now - MAX_AGE).order_by("region")
    found: dict[str, dict[str, QuotaState]] = {}
    for region, metric, limit, used, quota_id, read_at in rows.values_list("region", *COLUMNS):
        state = QuotaState(metric, limit, used, quota_id, read_at)
        for name in (region,) if region else REGIONS:
            found.setdefault(name, {})[state.metric] = state
    return found


def forget() -> None:
    """Discard cached quotas; call it after recording quotas by a query."""
    _recent.forget_changed()


_recent: Recent[tuple[str, str], Mapping[str, QuotaState]] = Recent(lambda place, now: load_quotas(*place, now=now))
_recent.forget_when_saved(QuotaReading)
