"""Move jobs between families of runs: join another family, or leave with a family of one's own."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs import transitions
from jobs.errors import NotPermitted
from jobs.models import Job, JobEvent
from jobs.permissions import check_may_request

MAX_MOVED = 50
"""Jobs of one step: each gets an event."""


def move_to_family(jobs: Sequence[Job], family: UUID | None, *, by: User, now: datetime) -> int:
    """Move jobs of one team to another family, or each to a new one of its own if `family` is None.

    Return how many were moved, each with an event; those that are in the family already are not. Raise NotPermitted
    unless `by` may request jobs of the team, and if the team has no such family. Raise ValueError for too many jobs.
    """
    if len(jobs) > MAX_MOVED:
        raise ValueError(f"at most {MAX_MOVED} jobs are moved at once")
    for team in {job.team for job in jobs}:
        check_may_request(by, team)
        if family is not None and not Job.objects.filter(family=family, team=team).exists():
            raise NotPermitted(_("%(team)s has no such family of runs.") % {"team": team})
    count = 0
    with transaction.atomic():
        for job in sorted(jobs, key=lambda each: each.pk):  # locked in the order of others
            count += family != job.family and _move(job, family or uuid4(), by, now, leaves=family is None)
    return count


def _move(job: Job, to: UUID, by: User, now: datetime, *, leaves: bool) -> bool:
    name = by.get_username()
    message = f"{name} took the job out of its family." if leaves else f"{name} moved the job to another family."
    return transitions.record_event(
        job,
        JobEvent.Kind.FAMILY,
        now=now,
        actor=by,
        reason="left" if leaves else "joined",
        message=message,
        detail={"from": None if job.family is None else str(job.family), "to": str(to)},
        once_key=f"family:{to}:{now.isoformat()}",
        family=to,
    )
