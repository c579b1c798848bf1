"""The baseline of a job: the job that it was cloned from, else the last successful job with the same name.

Approvers compare a job with the rejected job that it is a copy of, else with the requester's last approved job of the
same kind, if there is one.
"""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, Q, QuerySet, Subquery, Value, When
from django.utils.translation import gettext_lazy as _

from dashboard.access import jobs_of
from dashboard.queries.requester_record import newest_of
from jobs.models import Approval, Job
from jobs.states import NOT_SENT, JobState

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
