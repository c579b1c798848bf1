"""Whether a user may decide about a job, by the rules of `jobs.requests`, and must confirm with the password first."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from dashboard.access import Request, can, jobs_of
from jobs import requests
from jobs.clock import database_now
from jobs.errors import NotAllowed, NotPermitted
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
    approved, with the jobs of their sweeps that wait. Jobs that the user does not see do not count.
    """
    seen = jobs_of(request.user).filter(approval__isnull=False)
    named = Q(pk__in=list(keys))
    sweeps = set(seen.filter(named, sweep__isnull=False).values_list("sweep", flat=True))
    jobs = seen.filter(named | Q(sweep__in=sweeps, state=JobState.AWAITING_APPROVAL))
    asked = [job.approval.asked_usd for job in jobs.select_related("approval", "attempt__fallback")]
    return None in asked or sum(filter(None, asked), Decimal(0)) > settings.CONFIRM_ABOVE_USD


def approves_much_as(request: Request, key: UUID, strategy: str) -> bool:
    """Return `approves_much` about a job under another strategy; true if it is not known what it may cost then."""
    job = jobs_of(request.user).filter(pk=key, approval__isnull=False).first()
    if job is None:
        return False  # which the page answers as an unknown job
    try:
        most = requests.most_under(job, strategy, database_now())
    except (NotAllowed, ValueError, requests.Changed):
        return True
    return most is None or most > settings.CONFIRM_ABOVE_USD
