"""Schedules that are due are run by the sweep."""

import logging
from datetime import datetime

from django.db import DatabaseError

from jobs.models import Schedule
from jobs.requests.schedule_runs import run_due

logger = logging.getLogger(__name__)

AT_ONCE = 100
"""Schedules that one sweep runs, those due first; the next one finds the rest."""


def watch_schedules(now: datetime) -> int:
    """Run every schedule that is due; return how many. A fault of ours in one is logged and delays no other."""
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
