"""A job that was allowed and not sent yet is asked about again when policy or prices have changed meanwhile."""

from decimal import Decimal

from jobs.assessment import Assessment, Outcome
from jobs.cost import round_up
from jobs.models import Job
from jobs.requests.covering import approval_of, asks_more, codes_of, covers_attempt, has_votes, number_of


def asks_again(job: Job, assessment: Assessment) -> list[dict[str, object]]:
    """Return what approvers have to be asked about an allowed job before it is sent; nothing when it may be sent.

    `assessment` is that of now. What people approved holds as long as neither the amount that may be spent (by more
    than policy lets it drift) nor the reasons to ask nor the number and kind of approvers go beyond it. For an attempt
    that was approved with the first one the amount is the one that was planned, without drift.
    """
    asks = assessment.asks
    if assessment.outcome is not Outcome.NEEDS_APPROVAL or _covers(job, assessment):
        return []
    return asks


def _covers(job: Job, assessment: Assessment) -> bool:
    """Tell whether people have approved all that policy asks about now, and as many as it asked."""
    approval = approval_of(job)
    if approval is None:
        return False
    if approval.job_id != job.pk:
        return covers_attempt(approval, number_of(job), assessment)
    if not has_votes(approval) or not {each.code for each in assessment.approvals} <= codes_of(approval, 1):
        return False
    if asks_more(assessment, approval):
        return False
    if assessment.max_usd is None:  # nobody knew the price then either, or the reason would be a new one
        return True
    approved = approval.decided_usd if approval.cap_usd is not None else _approved_usd(job)
    drift = assessment.policy.drift_percent if assessment.policy is not None else 0
    return approved is not None and assessment.max_usd <= approved * (100 + drift) / 100


def _approved_usd(job: Job) -> Decimal | None:
    """Return what a person approved; of a job that was requested before that was kept, the high end of its estimate."""
    high = job.estimate.get("high_usd")
    if job.approved_usd is None and "most_usd" not in job.estimate and high:
        return round_up(Decimal(high))
    return job.approved_usd
