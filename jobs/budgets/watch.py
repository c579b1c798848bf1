"""Record the cost of running jobs and persistent resources in the ledger, and the notices of budgets."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from jobs.budgets.ledger import lock_teams, record_costs
from jobs.budgets.notices import record_notices
from jobs.budgets.resources import watch_resources
from jobs.isolation import take_each, take_portions
from jobs.models import Job

PORTION = 200
"""Jobs per transaction: it takes a fraction of a second, so that no worker waits long."""
INTERVAL = min(timedelta(minutes=15), 10 * settings.POLL_INTERVAL)
"""Time between two records of a running job's cost; short for an emulated job, which takes seconds.

Each adds an entry, so they are not frequent. The highest cost of the job is committed, so nothing is overspent in
between, and pages add what was not recorded yet (`jobs.budgets.sum_open`).
"""


def watch_budgets(now: datetime) -> int:
    """Record up to PORTION running jobs, persistent resources, and resulting notices; return how many.

    A team that is locked elsewhere, or whose jobs cannot be recorded, delays no other.
    """
    return take_each((_record_running, watch_resources, record_notices), lambda part: part(now), what="budgets")


def _due_jobs(now: datetime) -> QuerySet[Job]:
    """Select the running jobs that were not recorded for a while, or not on this day (UTC)."""
    midnight = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    is_old = Q(cost_until=None) | Q(cost_until__lte=now - INTERVAL) | Q(cost_until__lt=midnight)
    is_old |= Q(cost_until__gt=now + INTERVAL)  # the clock may have been set back
    return Job.objects.unfinished().filter(is_old, started_at__isnull=False)


def _record_running(now: datetime) -> int:
    by_team: dict[int, list[UUID]] = {}
    for key, team in _due_jobs(now).order_by("cost_until", "pk").values_list("pk", "team_id")[:PORTION]:
        by_team.setdefault(team, []).append(key)

    def record(portion: Sequence[UUID]) -> int:
        with transaction.atomic():
            jobs = Job.objects.filter(pk__in=portion)
            lock_teams(jobs.values_list("team_id", flat=True))
            rows = list(jobs.select_for_update(no_key=True).order_by("pk").defer("estimate", "error", "log_sources"))
            record_costs(rows, now)
        return len(rows)

    return take_each(by_team.values(), lambda rows: take_portions(rows, record, what="jobs"), what="budgets of a team")
