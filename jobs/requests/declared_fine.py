"""Answer "Still working?": declare a running job fine until a time, though it is silent or slow.

Nothing is reported about it until then, and an open question is closed. The row of the job's health is locked first, as
by the cancellation of a job that nobody answered for, so that one of the two wins.
"""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs import transitions
from jobs.cost.notes import in_words
from jobs.errors import NotPermitted
from jobs.models import Job, JobEvent, JobHealth, Role
from jobs.permissions import REQUESTING, role_of
from jobs.requests.one_person import count_as_one

FINE_FOR = timedelta(hours=6)
"""How long a job is fine if its owner gives no time."""
MAX_FINE_FOR, MAX_FINE_IN_ALL = timedelta(hours=24), timedelta(hours=72)
"""How long the owner may declare a job fine, at once and in all. An owner who always answers would hide its waste."""
MAX_FINE_BY_LEAD = timedelta(days=14)
HOUR = timedelta(hours=1)


def may_declare_fine(job: Job, *, by: User, role: str | None) -> bool:
    """Return whether `by`, with `role` in the job's team, may declare the job fine. Makes no query."""
    return role == Role.LEAD or (job.owner_id == by.pk and role in REQUESTING)


def declare_fine(job: Job, *, by: User, now: datetime, length: timedelta = FINE_FOR) -> bool:
    """Report nothing about a running job for `length`; return False if it does not run or is being cancelled.

    Raise NotPermitted for everybody but the job's owner and the team's leads. Raise ValueError if `length` is too long:
    an owner has 24 hours at once and 72 in all, and then a lead answers who does not count as one with the owner.
    """
    if not may_declare_fine(job, by=by, role=role_of(by, team_id=job.team_id)):
        raise NotPermitted(
            _("Only its owner and leads of %(team)s declare that this job is fine.") % {"team": job.team}
        )
    is_own = count_as_one(by.pk, job.owner_id)
    longest = MAX_FINE_FOR if is_own else MAX_FINE_BY_LEAD
    if not timedelta() < length <= longest:
        raise ValueError(_("Choose a time of at most %(hours)s hours.") % {"hours": longest // HOUR})
    running = Job.objects.filter(pk=job.pk, running_since__isnull=False, ended_at=None, cancel_requested_at=None)
    if not running.exists():
        return False
    with transaction.atomic():
        JobHealth.objects.get_or_create(job_id=job.pk)
        row = JobHealth.objects.select_for_update().get(pk=job.pk)
        return running.exists() and _record(job, row, by, now, length, is_own=is_own)


def _record(job: Job, row: JobHealth, by: User, now: datetime, length: timedelta, *, is_own: bool) -> bool:
    until = now + length
    if is_own:
        row.fine_seconds += max(int((until - max(row.fine_until or now, now)).total_seconds()), 0)
        if row.fine_seconds > MAX_FINE_IN_ALL.total_seconds():
            words = _("Its owner has declared it fine for as long as an owner may, %(hours)s hours. Ask a lead.")
            raise ValueError(words % {"hours": MAX_FINE_IN_ALL // HOUR})
    row.fine_until, row.asked_at = until, None
    row.save(update_fields=["fine_until", "asked_at", "fine_seconds"])
    return transitions.record_event(
        job,
        JobEvent.Kind.DECLARED_FINE,
        now=now,
        actor=by,
        message=f"It was declared fine for {in_words(length / HOUR)}. Nothing is reported about its work until "
        f"{until:%Y-%m-%d %H:%M} UTC.",
        once_key=f"declared_fine:{now.isoformat()}",
        detail={"until": until.isoformat()},
    )
