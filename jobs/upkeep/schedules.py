"""Run the schedules that are due, and repair their times after the database's clock was ahead."""

from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from jobs.isolation import take_each
from jobs.models import Schedule, ScheduleRun
from jobs.requests.schedule_runs import run_due
from jobs.requests.schedules import next_of

AT_ONCE = 100
"""Schedules run by one sweep, those due first. The next one finds the rest."""


def watch_schedules(now: datetime) -> int:
    """Run every due schedule and return how many.

    An exception in one does not delay the others; see `isolation.take_each`.
    """
    keys = list(due_schedules(now).order_by("next_at", "pk").values_list("pk", flat=True)[:AT_ONCE])
    return take_each(keys, lambda pk: run_due(pk, now=now), what="schedules")


def due_schedules(now: datetime) -> QuerySet[Schedule]:
    """Select the schedules that are due."""
    return Schedule.objects.filter(is_enabled=True, next_at__lte=now)


def repair_next_times(now: datetime) -> int:
    """Plan the next run again of the schedules that have a run later than now. Return how many had another time.

    The database's clock was ahead then. No time is run twice.
    """
    later = ScheduleRun.objects.filter(schedule=OuterRef("pk"), moment__gt=now)
    rows = Schedule.objects.filter(Exists(later), is_enabled=True)

    def step(row: Schedule) -> int:
        return Schedule.objects.filter(pk=row.pk, next_at=row.next_at).update(next_at=next_of(row, now))

    return take_each([row for row in rows if row.next_at != next_of(row, now)], step, what="times of schedules")
