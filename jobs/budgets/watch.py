"""Update the sums of spending while jobs run, and record jobs that no step has recorded."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from jobs.budgets.notices import record_notices
from jobs.budgets.record import lock_teams, record_spend
from jobs.budgets.resources import watch_resources
from jobs.isolation import take_each, take_portions
from jobs.models import Job, JobSpend
from jobs.states import JobState

PORTION = 200
"""Jobs per transaction: it takes a fraction of a second, so that no worker waits long."""
INTERVAL = min(timedelta(minutes=5), 10 * settings.POLL_INTERVAL)
"""Time between two records of a running job's cost; short for an emulated job, which takes seconds.

The highest cost of the job is committed already, so nothing is overspent in between.
"""


def watch_budgets(now: datetime) -> int:
    """Record up to PORTION jobs that need it, persistent resources, and resulting notices; return how many.

    A team that is locked elsewhere, or whose jobs cannot be recorded, delays no other.
    """
    return take_each((_record_due, watch_resources, record_notices), lambda part: part(now), what="budgets")


def _due_spends(now: datetime) -> QuerySet[JobSpend]:
    old = Q(recorded_at__lte=now - INTERVAL) | Q(recorded_at__gt=now + INTERVAL)  # the clock may have been set back
    running = Q(job__started_at__isnull=False) & old
    asked_again = Q(job__state=JobState.AWAITING_APPROVAL, committed_cents__gt=0)
    return JobSpend.objects.filter(running | asked_again, is_open=True)


def _unknown_jobs() -> QuerySet[Job]:
    return Job.objects.unfinished().filter(spend=None).exclude(state=JobState.AWAITING_APPROVAL)


def _record_due(now: datetime) -> int:
    """Record up to PORTION jobs that need it; return how many.

    These are running jobs that were not recorded for a while; jobs that wait for another approval, whose commitment
    ends; and jobs that no step has recorded, such as adopted ones or those of an earlier version of Trainboard.
    """
    keys = list(_due_spends(now).order_by("recorded_at", "job").values_list("pk", "job__team_id")[:PORTION])
    keys += _unknown_jobs().order_by("pk").values_list("pk", "team_id")[: PORTION - len(keys)]
    by_team: dict[int, list[UUID]] = {}
    for key, team in keys:
        by_team.setdefault(team, []).append(key)

    def record(portion: Sequence[UUID]) -> int:
        return _record(Job.objects.filter(pk__in=portion), now)

    return take_each(by_team.values(), lambda rows: take_portions(rows, record, what="jobs"), what="budgets of a team")


def record_all(now: datetime) -> Iterator[int]:
    """Record every job that may have cost something and that no step has recorded; yield the size of each portion."""
    missing = Job.objects.filter(spend=None).exclude(state=JobState.AWAITING_APPROVAL)
    while keys := list(missing.order_by("pk").values_list("pk", flat=True)[:PORTION]):
        yield _record(Job.objects.filter(pk__in=keys), now)


def _record(jobs: QuerySet[Job], now: datetime) -> int:
    with transaction.atomic():
        lock_teams(jobs.values_list("team_id", flat=True))
        rows = list(jobs.select_for_update(no_key=True).order_by("pk").defer("estimate", "error", "log_sources"))
        record_spend(rows, now)
    return len(rows)
