"""A job that was allowed and not sent yet is asked about again when policy or prices have changed meanwhile."""

from collections import Counter
from decimal import Decimal

from jobs.assessment import Assessment, Outcome
from jobs.cost import round_up
from jobs.models import Approval, Job, Vote
from jobs.policy_rules import Approvers, Rule
from jobs.requests.approver_groups import groups_of


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
    """Tell whether as many votes are kept as each group needed; one vote was not kept before there were several.

    A vote counts for the groups that its person was in when it was given.
    """
    votes = Vote.objects.filter(job=approval.job_id, asked_at=approval.asked_at, decision=Approval.Decision.APPROVED)
    groups = groups_of(approval)
    if len(groups) == 1:
        return approval.votes_needed <= 1 or votes.count() >= approval.votes_needed
    counted = (each if each is not None else [0] for each in votes.values_list("groups", flat=True))
    given = Counter(position for positions in counted for position in positions)
    return all(given[position] >= group.approvals for position, group in enumerate(groups))


def _asks_more(rule: Rule, approval: Approval) -> bool:
    """Tell whether a rule asks more people, or others, than those who approved."""
    return not all(any(_is_as_much(each, asked) for each in groups_of(approval)) for asked in rule.groups)


def _is_as_much(approved: Approvers, asked: Approvers) -> bool:
    """Tell whether the approval of one group stands for that of another."""
    return (
        approved.approvals >= asked.approvals
        and (asked.role != "lead" or approved.role == "lead")
        and (not asked.approvers or set(asked.approvers) == set(approved.approvers))
    )


def _approved_usd(job: Job) -> Decimal | None:
    """Return what a person approved; of a job that was requested before that was kept, the high end of its estimate."""
    high = job.estimate.get("high_usd")
    if job.approved_usd is None and "most_usd" not in job.estimate and high:
        return round_up(Decimal(high))
    return job.approved_usd
