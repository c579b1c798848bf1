"""The record of a requester for approvers: outcomes and costs of earlier jobs."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import Any

from django.db.models import QuerySet

from jobs.cost import from_micros
from jobs.models import Job
from jobs.states import FAILURES, JobState

MAX_JOBS = 50
"""Maximum jobs of the person in the team that are considered, the newest."""
MIN_USD = Decimal("0.05")
"""Estimates below this are no measure of how well somebody estimates."""
MAX_SEARCHED = 200
"""Maximum jobs of the person in any team among which those of the team are searched, on an index. The newest are used.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """The person's latest ended jobs: their number, their outcomes, and their cost as a share of the estimate.

    `usual_share` is the median of jobs that ran and were estimated at MIN_USD or more, None if none has both amounts.
    """

    jobs: int
    succeeded: int
    failed: int
    compared: int
    usual_share: Decimal | None = None


def newest_of(owner: int, before: datetime | None = None) -> QuerySet[Job, Any]:
    """Return the keys of a person's newest jobs. With `before`, only jobs requested before that time."""
    own = Job.objects.filter(owner=owner)
    own = own if before is None else own.filter(requested_at__lt=before)
    return own.order_by("-requested_at", "id").values("pk")[:MAX_SEARCHED]


def get_record(job: Job) -> Record | None:
    """Return the record of the job's requester in its team, None if none of their jobs has ended. One query."""
    own = Job.objects.filter(pk__in=newest_of(job.owner_id), team=job.team_id)
    own = own.filter(ended_at__isnull=False, is_adopted=False)
    fields = ("state", "started_at", "ended_at", "estimate_usd", "cost_micros")
    rows = list(own.order_by("-requested_at", "id").values_list(*fields)[:MAX_JOBS])
    if not rows:
        return None
    states = Counter(state for state, *_ in rows)
    ran = [(usd, cost) for _, started_at, ended_at, usd, cost in rows if started_at and ended_at and cost is not None]
    shares = [from_micros(cost) / usd for usd, cost in ran if usd and usd >= MIN_USD]
    failed = sum(states[state] for state in FAILURES)
    usual = median(shares) if shares else None
    return Record(len(rows), states[JobState.SUCCEEDED], failed, len(shares), usual)
