"""Let the owner of a running job declare it fine, though it is silent or slow. It is not reported for a while then."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from jobs import transitions
from jobs.errors import NotPermitted
from jobs.models import Job, JobEvent, JobHealth, Role
from jobs.permissions import REQUESTING, role_of

FINE_FOR = timedelta(hours=6)


def may_declare_fine(job: Job, *, by: User, role: str | None) -> bool:
    """Return whether `by`, with `role` in the job's team, may declare the job fine. Makes no query."""
    return role == Role.LEAD or (job.owner_id == by.pk and role in REQUESTING)


def declare_fine(job: Job, *, by: User, now: datetime) -> bool:
    """Report nothing about a running job for FINE_FOR; return False if it does not run.

    Raise NotPermitted for everybody but the job's owner and the team's leads.
    """
    if not may_declare_fine(job, by=by, role=role_of(by, team_id=job.team_id)):
        raise NotPermitted(
            _("Only its owner and leads of %(team)s declare that this job is fine.") % {"team": job.team}
        )
    if job.running_since is None or job.ended_at is not None:
        return False
    until = now + FINE_FOR
    with transaction.atomic():
        JobHealth.objects.update_or_create(job_id=job.pk, defaults={"fine_until": until})
        return transitions.record_event(
            job,
            JobEvent.Kind.DECLARED_FINE,
            now=now,
            actor=by,
            message=f"It was declared fine. Nothing is reported about its work until {until:%Y-%m-%d %H:%M} UTC.",
            once_key=f"declared_fine:{now.isoformat()}",
            detail={"until": until.isoformat()},
        )
