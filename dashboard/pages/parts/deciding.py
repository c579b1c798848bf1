"""Whether a user may decide about a job, by the rules of `jobs.requests`."""

from datetime import datetime

from dashboard.access import Request, can
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
