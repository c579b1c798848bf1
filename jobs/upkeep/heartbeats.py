"""Record which processes run, and add their counters to the totals in the database."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction
from django.db.models import F

from jobs import counts
from jobs.models import Heartbeat, MetricCount, Upkeep

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 10.0
CLOCK = "clock"
"""Name of the row with the last step of the database's clock."""
KEPT = timedelta(days=1)
"""Names of processes change with each container. Rows of processes that are gone are removed after this time."""


def record_heartbeat(process: str, part: str, *, queues: Sequence[str] = (), now: datetime) -> None:
    """Record that a process runs, and delete the rows of those that have not for a day."""
    row = Heartbeat(process=process[:150], part=part, queues=",".join(queues)[:200], at=now)
    Heartbeat.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["process"], update_fields=["part", "queues", "at"]
    )
    Heartbeat.objects.filter(at__lt=now - KEPT).delete()


def record_step(step: timedelta, *, process: str, now: datetime) -> None:
    """Record that the database's clock has stepped: in the log, and on a row for metrics and the doctor."""
    if not step:
        return
    logger.error("the database's clock has stepped by %+.0f s, as seen by %s", step.total_seconds(), process)
    columns = {"answered_at": now, "result": {"seconds": step.total_seconds(), "process": process}}
    Upkeep.objects.update_or_create(name=CLOCK, defaults=columns)


def last_step(now: datetime, within: timedelta) -> timedelta:
    """Return the last step of the database's clock, zero if there was none within that time."""
    row = Upkeep.objects.filter(name=CLOCK, answered_at__gte=now - within).first()
    return timedelta(seconds=row.result["seconds"]) if row is not None else timedelta()


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
