"""Whether a user may decide about a job, by the rules of `jobs.requests`, and must confirm with the password first."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.conf import settings

from dashboard.access import Request, can, jobs_of
from jobs.errors import NotPermitted
from jobs.models import Job
from jobs.requests.deciders import Decider
from jobs.states import JobState


def may_decide(request: Request, job: Job, now: datetime) -> bool:
    """Return whether the user may decide about the job. Makes no query if no decision is open."""
    question = getattr(job, "approval", None)
    if job.state != JobState.AWAITING_APPROVAL or question is None or not can(request.user, "decide", job.team):
        return False
    decider = Decider.load(request.user, [job], now=now)
    try:
        decider.voter_for(job, question)
    except NotPermitted:
        return False
    return all(vote.voter_id != request.user.pk for vote in decider.votes_for(question))


def approves_much(request: Request, keys: Iterable[UUID]) -> bool:
    """Return whether jobs that may together cost more than TRAINBOARD_CONFIRM_ABOVE_USD, or an unknown amount, are
    approved. Jobs that the user does not see do not count.
    """
    jobs = jobs_of(request.user).filter(pk__in=list(keys), approval__isnull=False)
    asked = [job.approval.asked_usd for job in jobs.select_related("approval", "attempt__fallback")]
    return None in asked or sum(filter(None, asked), Decimal(0)) > settings.CONFIRM_ABOVE_USD
