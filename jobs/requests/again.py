"""A job that was allowed and not sent yet is asked about again when policy or prices have changed meanwhile."""

from decimal import Decimal

from jobs.assessment import Assessment, Outcome
from jobs.cost import round_up
from jobs.models import Approval, Job, Vote
from jobs.policy_rules import Rule
from jobs.requests.deciders import names_of


def asks_again(job: Job, assessment: Assessment) -> list[dict[str, object]]:
    """Return what approvers have to be asked about an allowed job before it is sent; nothing when it may be sent.

    `assessment` is that of now. What people approved holds as long as neither the amount that may be spent (by more
    than policy lets it drift) nor the reasons to ask nor the number and kind of approvers go beyond it.
    """
    asks = assessment.asks
    if assessment.outcome is not Outcome.NEEDS_APPROVAL or _covers(job, assessment, asks):
        return []
    return asks


def _covers(job: Job, assessment: Assessment, asks: list[dict[str, object]]) -> bool:
    """Tell whether people have approved all that policy asks about now, and as many as it asked."""
    approval = Approval.objects.filter(job=job, decision=Approval.Decision.APPROVED).first()
    if approval is None or not _has_votes(approval):
        return False
    if not {each["code"] for each in asks} <= {each.get("code") for each in approval.findings}:
        return False
    rule = assessment.decision.rule if assessment.decision is not None else None
    if rule is not None and rule.outcome == "ask" and _asks_more(rule, approval):
        return False
    if assessment.max_usd is None:  # nobody knew the price then either, or the reason would be a new one
        return True
    approved = approval.decided_usd if approval.cap_usd is not None else _approved_usd(job)
    drift = assessment.policy.drift_percent if assessment.policy is not None else 0
    return approved is not None and assessment.max_usd <= approved * (100 + drift) / 100


def _has_votes(approval: Approval) -> bool:
    """Tell whether as many votes are kept as the question needed; one vote was not kept before there were several."""
    votes = Vote.objects.filter(job=approval.job_id, asked_at=approval.asked_at, decision=Approval.Decision.APPROVED)
    return approval.votes_needed <= 1 or votes.count() >= approval.votes_needed


def _asks_more(rule: Rule, approval: Approval) -> bool:
    """Tell whether a rule asks more people, or others, than those who approved."""
    return (
        rule.approvals > approval.votes_needed
        or (rule.role == "lead" and approval.role_needed != "lead")
        or (bool(rule.approvers) and set(rule.approvers) != set(names_of(approval)))
    )


def _approved_usd(job: Job) -> Decimal | None:
    """Return what a person approved; of a job that was requested before that was kept, the high end of its estimate."""
    high = job.estimate.get("high_usd")
    if job.approved_usd is None and "most_usd" not in job.estimate and high:
        return round_up(Decimal(high))
    return job.approved_usd
