"""Run the schedules that are due."""

import logging
from datetime import datetime

from django.db import DatabaseError

from jobs.models import Schedule
from jobs.requests.schedule_runs import run_due

logger = logging.getLogger(__name__)

AT_ONCE = 100
"""Schedules run by one sweep, those due first. The next one finds the rest."""


def watch_schedules(now: datetime) -> int:
    """Run every due schedule and return how many.

    An unexpected exception in one is logged and does not delay the others.
    """
    due = Schedule.objects.filter(is_enabled=True, next_at__lte=now).order_by("next_at", "pk")
    count = 0
    for pk in list(due.values_list("pk", flat=True)[:AT_ONCE]):
        try:
            count += run_due(pk, now=now)
        except DatabaseError:
            raise
        except Exception:
            logger.exception("a schedule could not be run: %s", pk)
    return count
