"""Run the schedules that are due."""

from datetime import datetime

from django.db.models import QuerySet

from jobs.isolation import take_each
from jobs.models import Schedule
from jobs.requests.schedule_runs import run_due

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
