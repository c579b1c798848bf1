"""The first events of a job: what was requested, and that it waits for an approval or may be sent."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from jobs import transitions
from jobs.assessment import Assessment, Outcome
from jobs.models import Job, JobEvent
from jobs.requests.covering import Agreed
from jobs.requests.planned import Question
from jobs.requests.questions import ask
from jobs.states import JobState

ASSESSED = {
    Outcome.ALLOWED: "Checked by rules and policy: it may be sent without an approval.",
    Outcome.NEEDS_APPROVAL: "Checked by rules and policy: an approver has to decide.",
}
"""The message of a job's first event; one that is refused is not kept."""
APPROVED_BEFORE = "Checked by rules and policy: it was approved with the first attempt."
FIRST_KEY = "judged:request"
"""The key of a job's first event."""


def begin(
    job: Job,
    assessment: Assessment,
    question: Question | None,
    *,
    by: User,
    now: datetime,
    requested: dict[str, str | None],
    agreed: Agreed | None = None,
) -> None:
    """Write the events of a request; `question` is what an approver has to agree to, None for nothing.

    `requested` tells requests apart that were made with one key. With `agreed` the job was approved with the first
    attempt, so that it asks nobody.
    """
    outcome = Outcome.NEEDS_APPROVAL if question is not None else Outcome.ALLOWED
    transitions.record_event(
        job,
        JobEvent.Kind.ASSESSED,
        now=now,
        message=ASSESSED[outcome] if agreed is None else APPROVED_BEFORE,
        reason=outcome,
        detail=assessment.as_dict() | {"requested": requested},
        once_key=FIRST_KEY,
    )
    if question is not None:
        ask(job, question.findings, question.policy, now=now, attempts=question.attempts)
        message = f"{by.get_username()} requested the job; policy asks for an approval."
        to = JobState.AWAITING_APPROVAL
        transitions.transition(job, to, now=now, actor=by, reason="requested", message=message)
    else:
        _allow(job, agreed, by=by, now=now)


def _allow(job: Job, agreed: Agreed | None, *, by: User, now: datetime) -> None:
    """Let a job be sent; the event names the approval that it stands on, if it stands on one."""
    allowed_usd = job.max_usd if job.limit_usd is None else job.limit_usd
    transitions.transition(
        job,
        JobState.APPROVED,
        now=now,
        actor=by,
        reason="requested",
        message=f"{by.get_username()} requested the job; {_why_allowed(agreed)}.",
        detail={} if agreed is None else _approval_of(agreed),
        due_at=now,
        approved_usd=allowed_usd if agreed is None else job.max_usd,
    )


def _why_allowed(agreed: Agreed | None) -> str:
    if agreed is None:
        return "policy allows it"
    approver = agreed.approval.decided_by
    who = approver.get_username() if approver is not None else "an approver"
    return f"{who} approved attempt {agreed.number} with the first one"


def _approval_of(agreed: Agreed) -> dict[str, Any]:
    asked_at = agreed.approval.asked_at.isoformat()
    return {"approval": {"job": str(agreed.approval.job_id), "asked_at": asked_at, "attempt": agreed.number}}
