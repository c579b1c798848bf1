"""Jobs that cost more than was approved: noticed by the sweep, told once, and cancelled where the team wants that."""

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice

from django.db import transaction
from django.db.models import Q, QuerySet

from jobs import timeline
from jobs.cost import accrued
from jobs.lifecycle import door
from jobs.lifecycle.asking.request import CENT
from jobs.lifecycle.sending.cancel_by_policy import cancel_by_policy
from jobs.models import Job, JobEvent
from jobs.policy import in_usd
from jobs.states import FINISHED, LOCAL

ENDED_WITHIN = timedelta(hours=1)
"""A job that ended longer ago is not looked at: its cost does not change any more."""
AT_ONCE = 500
"""Jobs told by one sweep; the next one finds the rest."""


def watch_spending(now: datetime) -> int:
    """Tell of every job whose cost exceeds what was approved since the last call; return how many."""
    over = (job for job in _candidates(now).iterator() if _is_over(job, now))
    return sum(_record_overrun(job, now) for job in list(islice(over, AT_ONCE)))


def _candidates(now: datetime) -> QuerySet[Job]:
    """Jobs that run or have just ended and that may have run for longer than was paid for; newest starts last."""
    priced = Job.objects.filter(
        over_approved_at=None, approved_usd__isnull=False, hourly_usd__gt=0, started_at__isnull=False
    )
    active = Q(ended_at=None) | Q(ended_at__gte=now - ENDED_WITHIN)
    rows = priced.exclude(state__in=LOCAL).filter(active).defer("spec", "estimate", "error", "log_sources")
    return rows.select_related("team__policy", "sighting").order_by("started_at", "pk")


def cost_of(job: Job, now: datetime) -> Decimal | None:
    """Return what the job has cost so far to the cent, without rounding its time up: nothing is told too early."""
    usd = accrued(job.hourly_usd, timeline.running(job, now), increment=timedelta())
    return None if usd is None else usd.quantize(CENT)


def _is_over(job: Job, now: datetime) -> bool:
    cost = cost_of(job, _last_seen(job, now))
    return cost is not None and job.approved_usd is not None and cost > job.approved_usd


def _last_seen(job: Job, now: datetime) -> datetime:
    """Return until when it is known to have run: a job that ended unseen must not be told to run on."""
    return now if job.state in FINISHED or job.seen_at is None else min(now, job.seen_at)


def _record_overrun(job: Job, now: datetime) -> bool:
    cost = cost_of(job, _last_seen(job, now))
    assert cost is not None
    assert job.approved_usd is not None
    sentence = f"It has cost {in_usd(cost)}, more than the {in_usd(job.approved_usd)} that were approved."
    with transaction.atomic():
        told = door.note(
            job,
            JobEvent.Kind.OVER_APPROVED,
            now=now,
            sentence=sentence,
            once_key="over_approved",
            detail={"cost_usd": str(cost), "approved_usd": str(job.approved_usd)},
            over_approved_at=now,
        )
        policy = getattr(job.team, "policy", None)
        if told and policy is not None and policy.cancel_over_approved:
            cancel_by_policy(
                job, now=now, sentence="Policy of the team cancels a job that costs more than was approved."
            )
    return told
