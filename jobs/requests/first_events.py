"""The first events of a job: what was requested, and that it waits for an approval or may be sent."""

from datetime import datetime

from django.contrib.auth.models import User

from jobs import transitions
from jobs.assessment import Assessment, Outcome
from jobs.models import Job, JobEvent
from jobs.requests.approval_coverage import AttemptApproval
from jobs.requests.questions import Question, save_question
from jobs.states import JobState

ASSESSED = {
    Outcome.ALLOWED: "Checked by rules and policy: it may be sent without an approval.",
    Outcome.NEEDS_APPROVAL: "Checked by rules and policy: an approver has to decide.",
}
"""The message of a job's first event; one that is refused is not kept."""
APPROVED_BEFORE = "Checked by rules and policy: it was approved with the first attempt."
FIRST_KEY = "judged:request"
"""The key of a job's first event."""


def record_request(
    job: Job,
    assessment: Assessment,
    question: Question | None,
    *,
    by: User,
    now: datetime,
    requested: dict[str, str | None],
    approval: AttemptApproval | None = None,
) -> None:
    """Write the events of a request; `question` is the one that approvers are asked, None for none.

    `requested` distinguishes requests that were made with one key. With `approval` the job was approved with the first
    attempt, so that nobody is asked.
    """
    outcome = Outcome.NEEDS_APPROVAL if question is not None else Outcome.ALLOWED
    transitions.record_event(
        job,
        JobEvent.Kind.ASSESSED,
        now=now,
        message=ASSESSED[outcome] if approval is None else APPROVED_BEFORE,
        reason=outcome,
        detail=assessment.as_dict() | {"requested": requested},
        once_key=FIRST_KEY,
    )
    if question is not None:
        save_question(job, question, now=now)
        message = f"{by.get_username()} requested the job; policy asks for an approval."
        to = JobState.AWAITING_APPROVAL
        transitions.transition(job, to, now=now, actor=by, reason="requested", message=message)
    else:
        _allow(job, approval, by=by, now=now)


def _allow(job: Job, approval: AttemptApproval | None, *, by: User, now: datetime) -> None:
    """Let a job be sent; the event names the approval that it stands on, if it stands on one."""
    why, detail = "policy allows it", {}
    if approval is not None:
        given, approver = approval.approval, approval.approval.decided_by
        who = approver.get_username() if approver is not None else "an approver"
        why = f"{who} approved attempt {approval.number} with the first one"
        asked_at = given.asked_at.isoformat()
        detail = {"approval": {"job": str(given.job_id), "asked_at": asked_at, "attempt": approval.number}}
    allowed_usd = job.max_usd if job.limit_usd is None else job.limit_usd
    transitions.transition(
        job,
        JobState.APPROVED,
        now=now,
        actor=by,
        reason="requested",
        message=f"{by.get_username()} requested the job; {why}.",
        detail=detail,
        due_at=now,
        approved_usd=allowed_usd if approval is None else job.max_usd,
    )
