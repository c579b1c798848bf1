"""Find jobs that cost more than was approved.

Each is recorded as an event once, and cancelled if policy requires it.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from jobs import timeline, transitions
from jobs.cost import CENT, format_usd
from jobs.cost.actual import for_time
from jobs.isolation import take_each
from jobs.models import Approval, Job, JobEvent, PolicyVersion
from jobs.states import FINISHED, LOCAL

ENDED_WITHIN = timedelta(hours=1)
"""Jobs that ended longer ago are not checked, because their cost does not change any more."""
AT_ONCE = 500
"""Jobs handled by one sweep. The next one finds the rest."""


def watch_spending(now: datetime) -> int:
    """Record an event for every job whose cost now exceeds what was approved, once per job. Return how many."""
    keys = _candidates(now)
    if not keys:
        return 0
    jobs = Job.objects.filter(pk__in=keys).defer("spec", "estimate", "error", "log_sources")
    rows = jobs.select_related("team__policy", "last_seen").order_by("started_at", "pk")
    left = AT_ONCE

    def step(job: Job) -> bool:
        nonlocal left
        usd = cost_of(job, last_known(job, now))
        if not left or usd is None or job.approved_usd is None or usd <= job.approved_usd:
            return False
        left -= 1
        return _record_overrun(job, usd, job.approved_usd, now)

    return take_each(rows.iterator(), step, what="jobs with an approved cost")


def priced_jobs(now: datetime) -> QuerySet[Job]:
    """Select the running or just ended jobs that have an approved cost and were not found to exceed it."""
    priced = Job.objects.filter(
        over_approved_at=None, approved_usd__isnull=False, hourly_usd__gt=0, started_at__isnull=False
    )
    priced = priced.exclude(cap_cancels=True, cap_usd__lte=F("approved_usd"))  # `jobs.upkeep.caps` cancels those
    return priced.exclude(state__in=LOCAL).filter(Q(ended_at=None) | Q(ended_at__gte=now - ENDED_WITHIN))


def _candidates(now: datetime) -> list[UUID]:
    """Return those that would exceed the approved cost if they had run since their first start.

    All tuning jobs are included, because the run time of each trial is rounded up.
    """
    columns = ("pk", "started_at", "ended_at", "hourly_usd", "approved_usd", "trial_seconds")
    return [
        pk
        for pk, started_at, ended_at, hourly_usd, approved_usd, trial_seconds in priced_jobs(now).values_list(*columns)
        if trial_seconds is not None or for_time(hourly_usd, (ended_at or now) - started_at) > approved_usd
    ]


def cost_of(job: Job, now: datetime) -> Decimal | None:
    """Return the cost so far to the cent, without rounding the time up, so that nothing is reported too early."""
    usd = timeline.compute_cost(job, now, increment=timedelta())
    return None if usd is None else usd.quantize(CENT)


def last_known(job: Job, now: datetime) -> datetime:
    """Return until when the job is known to have run.

    A job whose end was not observed must not appear to be running.
    """
    return now if job.state in FINISHED or job.seen_at is None else min(now, job.seen_at)


def _record_overrun(job: Job, usd: Decimal, approved_usd: Decimal, now: datetime) -> bool:
    message = f"The job has cost {format_usd(usd)}, more than the approved {format_usd(approved_usd)}."
    with transaction.atomic():
        is_new = transitions.record_event(
            job,
            JobEvent.Kind.OVER_APPROVED,
            now=now,
            message=message,
            once_key="over_approved",
            detail={"cost_usd": str(usd), "approved_usd": str(approved_usd)},
            over_approved_at=now,
        )
        if is_new and _is_cancelled(job):
            message = "The policy of the team cancels jobs that cost more than was approved."
            transitions.request_end(job, now=now, message=message)
    return is_new


def _is_cancelled(job: Job) -> bool:
    """Return whether the policy under which the job was approved or allowed cancels jobs that cost more.

    A version saved later does not apply. If no version was stored, the current policy applies.
    """
    number = _version_number_of(job)
    version = PolicyVersion.objects.filter(team=job.team_id, number=number).first() if number else None
    policy = version or getattr(job.team, "policy", None)
    return policy is not None and policy.cancel_over_approved


def _version_number_of(job: Job) -> int:
    """Return the number of the policy version stored with the job's approval, else with its assessment. 0 if none."""
    approved = Approval.objects.filter(job=job, decision=Approval.Decision.APPROVED, policy__isnull=False)
    for policy in approved.values_list("policy", flat=True):
        return int((policy or {}).get("version") or 0)
    assessed = job.events.filter(kind=JobEvent.Kind.ASSESSED).order_by("-id").values_list("detail", flat=True)
    newest: dict[str, Any] = next((detail["policy"] for detail in assessed if detail.get("policy")), {})
    return int(newest.get("version") or 0)
