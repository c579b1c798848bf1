"""Processes record that they run, and add what they counted to the numbers of all."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction
from django.db.models import F

from jobs import counts
from jobs.models import Heartbeat, MetricCount

INTERVAL_SECONDS = 10.0
KEPT = timedelta(days=1)
"""Names of processes change with each container; rows of those that are gone are removed after this."""


def record_heartbeat(process: str, part: str, *, queues: Sequence[str] = (), now: datetime) -> None:
    """Write that a process runs, and forget those that have not for a day."""
    row = Heartbeat(process=process[:150], part=part, queues=",".join(queues)[:200], at=now)
    Heartbeat.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["process"], update_fields=["part", "queues", "at"]
    )
    Heartbeat.objects.filter(at__lt=now - KEPT).delete()


def store_counts() -> None:
    """Add what this process counted to the database's numbers; it is counted on here where the database fails."""
    taken = counts.take()
    try:
        with transaction.atomic():
            _add(taken)
    except DatabaseError:
        counts.put_back(taken)
        raise


def _add(taken: Mapping[counts.Key, float]) -> None:
    """Add each number to its row, in one order, so that two processes wait for each other and never in a circle."""
    for metric, labels in sorted(taken):
        rows = MetricCount.objects.filter(metric=metric, labels=labels)
        amount = taken[metric, labels]
        if not rows.update(value=F("value") + amount):
            MetricCount.objects.bulk_create([MetricCount(metric=metric, labels=labels, value=0)], ignore_conflicts=True)
            rows.update(value=F("value") + amount)
