"""What approvers compare a job with: the record of its requester, and its baseline.

That is the job that it was cloned from, else the last successful job with the same name. Approvers compare a job with
the rejected job that it is a copy of, else with the requester's last approved job of the same kind, if there is one.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, Q, QuerySet, Subquery, Value, When
from django.utils.translation import gettext_lazy as _

from dashboard.access import jobs_of
from jobs.cost import from_micros
from jobs.models import Approval, Job
from jobs.states import FAILURES, NOT_SENT, JobState

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


REJECTED, APPROVED, ORIGIN, SUCCEEDED = "rejected", "approved", "origin", "succeeded"
WORDS = {
    REJECTED: _("the rejected job that it was cloned from"),
    APPROVED: _("the requester's last approved job of this kind"),
    ORIGIN: _("the job that it was cloned from"),
    SUCCEEDED: _("the last job of this name that succeeded"),
}


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier job and the reason for choosing it, as text that follows "compared with"."""

    job: Job
    why: str


def get_baseline(user: User, job: Job, *, approved_first: bool = False) -> Baseline | None:
    """Return the baseline of a job, None if it has none that `user` may see. One query.

    With `approved_first`, the job that it was cloned from takes precedence if that was rejected, then the requester's
    last approved job of the same team and kind.
    """
    places = {ORIGIN: Q(pk=job.cloned_from_id), SUCCEEDED: Q(pk=Subquery(_last_success(job)))}
    if approved_first:
        rejected = Q(pk=job.cloned_from_id, state=JobState.REJECTED)
        places = {REJECTED: rejected, APPROVED: Q(pk=Subquery(_last_approved(job)))} | places
    wanted, order = Q(), list(places)
    for condition in places.values():
        wanted |= condition
    why = Case(*(When(condition, then=Value(reason)) for reason, condition in places.items()))
    visible = jobs_of(user).select_related("approval__decided_by").filter(wanted)
    rows = [(getattr(each, "why"), each) for each in visible.annotate(why=why)]  # noqa: B009
    found = min(rows, key=lambda each: order.index(each[0]), default=None)
    return None if found is None else Baseline(found[1], str(WORDS[found[0]]))


def _last_success(job: Job) -> QuerySet[Job, Any]:
    """Return the key of the latest successful job of the same team and name that was requested before this one."""
    same = Job.objects.filter(team=job.team_id, display_name=job.display_name, state=JobState.SUCCEEDED)
    earlier = same.filter(requested_at__lte=job.requested_at).exclude(pk=job.pk)
    return earlier.order_by("-requested_at", "pk").values("pk")[:1]


def _last_approved(job: Job) -> QuerySet[Job, Any]:
    """Return the key of the newest job of the same person, team and kind that was approved and sent.

    Only the person's newest jobs are searched.
    """
    newest = newest_of(job.owner_id, before=job.requested_at)
    alike = Job.objects.filter(pk__in=newest, team=job.team_id, kind=job.kind)
    alike = alike.filter(approval__decision=Approval.Decision.APPROVED)
    return alike.exclude(state__in=NOT_SENT).order_by("-requested_at", "id").values("pk")[:1]
