"""Whether what people have approved still covers a job: when it is about to be sent, and for its further attempts.

A request with further attempts is asked about once, with all of them (`Approval.attempts`). An attempt that is made
later needs no question of its own where it is what was planned then, costs no more than was planned, and policy asks
for nothing else. What passes a budget is always asked about again, because what is left of a budget changes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from jobs.assessment import Assessment, Outcome
from jobs.cost import round_up
from jobs.models import Approval, FallbackAttempt, Job, Vote
from jobs.policy_rules import Approvers, Rule
from jobs.requests.approver_groups import groups_of

ALWAYS_ASKED = frozenset({"over_budget"})
"""Codes of findings that the approval of a planned attempt never answers."""


def find_uncovered(job: Job, assessment: Assessment) -> list[dict[str, object]]:
    """Return what approvers have to be asked about an allowed job before it is sent; nothing when it may be sent.

    `assessment` is that of now. What people approved holds as long as neither the amount that may be spent (by more
    than policy lets it drift) nor the reasons to ask nor the number and kind of approvers go beyond it. For an attempt
    that was approved with the first one the amount is the one that was planned, without drift.
    """
    needs_approval = assessment.outcome is Outcome.NEEDS_APPROVAL
    return assessment.asks if needs_approval and not _is_covered(job, assessment) else []


def _is_covered(job: Job, assessment: Assessment) -> bool:
    """Return whether people have approved all that policy asks about now, and as many as it asked."""
    approval = find_approval(job)
    if approval is None:
        return False
    if approval.job_id != job.pk:
        return AttemptApproval(approval, attempt_number(job)).covers(assessment)
    if not has_all_votes(approval) or not {finding.code for finding in assessment.approvals} <= approved_codes(
        approval, 1
    ):
        return False
    if needs_more_approvers(assessment, approval):
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


def find_approval(job: Job) -> Approval | None:
    """Return the approval that a job stands on: its own, else that of all attempts of its request.

    A job that was asked about itself has no other, also where the answer was no.
    """
    own = Approval.objects.filter(job=job).first()
    if own is not None:
        return own if own.decision == Approval.Decision.APPROVED else None
    attempt = FallbackAttempt.objects.filter(job=job).first()
    return None if attempt is None else find_shared_approval(attempt.fallback_id)


def find_shared_approval(fallback: UUID) -> Approval | None:
    """Return the approval of all attempts of a request, by the key of its fallback; None where there is none."""
    return Approval.objects.filter(
        job__attempt__fallback=fallback, job__attempt__number=1, decision=Approval.Decision.APPROVED,
        attempts__isnull=False,
    ).first()  # fmt: skip


def attempt_number(job: Job) -> int:
    """Return which attempt of its request a job is; 1 for a job without further ones."""
    return FallbackAttempt.objects.filter(job=job).values_list("number", flat=True).first() or 1


@dataclass(frozen=True, slots=True)
class AttemptApproval:
    """The approval of all attempts of a request, and which of them a job is."""

    approval: Approval
    number: int

    def covers(self, assessment: Assessment) -> bool:
        """Return whether the approval holds for this attempt, as it is assessed now."""
        attempts: Iterable[Mapping[str, Any]] = self.approval.attempts or ()
        planned = next((attempt for attempt in attempts if attempt["number"] == self.number), None)
        if planned is None or not has_all_votes(self.approval):
            return False
        submission = assessment.submission
        if (planned["digest"], planned["project"]) != (submission.digest, submission.project):
            return False
        codes = {str(finding.code) for finding in assessment.approvals}
        if codes & ALWAYS_ASKED or not codes <= approved_codes(self.approval, self.number):
            return False
        if needs_more_approvers(assessment, self.approval):
            return False
        if assessment.max_usd is None or planned["max_usd"] is None:
            return assessment.max_usd is None and planned["max_usd"] is None
        return assessment.max_usd <= Decimal(planned["max_usd"])


def approved_codes(approval: Approval, number: int) -> set[str]:
    """Return the codes of what was asked about one attempt; a finding that names none is about the first."""
    return {str(finding.get("code")) for finding in approval.findings if finding.get("attempt", 1) == number}


def has_all_votes(approval: Approval) -> bool:
    """Return whether as many votes are kept as each group needed; one vote was not kept before there were several.

    A vote counts for the groups that its person was in when it was given.
    """
    votes = Vote.objects.filter(job=approval.job_id, asked_at=approval.asked_at, decision=Approval.Decision.APPROVED)
    groups = groups_of(approval)
    if len(groups) == 1:
        return approval.votes_needed <= 1 or votes.count() >= approval.votes_needed
    counted = (each if each is not None else [0] for each in votes.values_list("groups", flat=True))
    given = Counter(position for positions in counted for position in positions)
    return all(given[position] >= group.approvals for position, group in enumerate(groups))


def needs_more_approvers(assessment: Assessment, approval: Approval) -> bool:
    """Return whether the rule that decides now asks more people, or others, than those who approved."""
    rule: Rule | None = assessment.decision.rule if assessment.decision is not None else None
    if rule is None or rule.outcome != "ask":
        return False
    return not all(is_group_covered(asked, groups_of(approval)) for asked in rule.groups)


def is_group_covered(asked: Approvers, groups: Iterable[Approvers]) -> bool:
    """Return whether the approval of one of the groups stands for that of another."""
    return any(_is_as_much(group, asked) for group in groups)


def _is_as_much(approved: Approvers, asked: Approvers) -> bool:
    return (
        approved.approvals >= asked.approvals
        and (asked.role != "lead" or approved.role == "lead")
        and (not asked.approvers or set(asked.approvers) == set(approved.approvers))
    )
