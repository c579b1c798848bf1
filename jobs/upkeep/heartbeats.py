"""Record which processes run, and add their counters to the totals in the database."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction
from django.db.models import F

from jobs import counts
from jobs.models import Heartbeat, MetricCount

INTERVAL_SECONDS = 10.0
KEPT = timedelta(days=1)
"""Names of processes change with each container. Rows of processes that are gone are removed after this time."""


def record_heartbeat(process: str, part: str, *, queues: Sequence[str] = (), now: datetime) -> None:
    """Record that a process runs, and delete the rows of those that have not for a day."""
    row = Heartbeat(process=process[:150], part=part, queues=",".join(queues)[:200], at=now)
    Heartbeat.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["process"], update_fields=["part", "queues", "at"]
    )
    Heartbeat.objects.filter(at__lt=now - KEPT).delete()


def store_counts() -> None:
    """Add this process's counters to the database. If the database fails, the counts are kept here."""
    taken = counts.take()
    try:
        with transaction.atomic():
            _add(taken)
    except DatabaseError:
        counts.put_back(taken)
        raise


def _add(taken: Mapping[counts.Key, float]) -> None:
    """Add each count to its row. Rows are updated in one order to avoid deadlocks."""
    for metric, labels in sorted(taken):
        rows = MetricCount.objects.filter(metric=metric, labels=labels)
        amount = taken[metric, labels]
        if not rows.update(value=F("value") + amount):
            MetricCount.objects.bulk_create([MetricCount(metric=metric, labels=labels, value=0)], ignore_conflicts=True)
            rows.update(value=F("value") + amount)
