"""Decide whether an approval still covers a job when it is about to be sent, and whether it covers further attempts.

A request with further attempts has one question about all of them (`Approval.attempts`). A later attempt needs no
question of its own if it is as planned, costs no more than planned, and policy asks for nothing else. A finding that a
budget is exceeded is always asked about again, because the rest of a budget changes.
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
"""Codes of findings that the approval of a planned attempt never covers."""


def find_uncovered(job: Job, assessment: Assessment) -> list[dict[str, object]]:
    """Return the findings to ask approvers about before an allowed job is sent, or [] if it may be sent.

    `assessment` is the current one. An approval covers it as long as it exceeds neither the amount that may be spent
    (by more than the drift that policy allows), nor the reasons to ask, nor the number and kind of approvers. For an
    attempt that was approved with the first one, the amount is the planned one, without drift.
    """
    needs_approval = assessment.outcome is Outcome.NEEDS_APPROVAL
    return assessment.asks if needs_approval and not _is_covered(job, assessment) else []


def _is_covered(job: Job, assessment: Assessment) -> bool:
    """Return whether the approval covers everything that policy asks now, with as many approvers as policy asks for."""
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
    if assessment.max_usd is None:  # the price was not known then either, or the reason would be a new one
        return True
    approved = approval.decided_usd if approval.cap_usd is not None else _approved_usd(job)
    drift = assessment.policy.drift_percent if assessment.policy is not None else 0
    return approved is not None and assessment.max_usd <= approved * (100 + drift) / 100


def _approved_usd(job: Job) -> Decimal | None:
    """Return the approved amount. For a job requested before that was stored, it is the high end of its estimate."""
    high = job.estimate.get("high_usd")
    if job.approved_usd is None and "most_usd" not in job.estimate and high:
        return round_up(Decimal(high))
    return job.approved_usd


def find_approval(job: Job) -> Approval | None:
    """Return the approval that covers a job: its own, else that of all attempts of its request.

    If a question was asked about the job itself, only its answer counts, also if it was no.
    """
    own = Approval.objects.filter(job=job).first()
    if own is not None:
        return own if own.decision == Approval.Decision.APPROVED else None
    attempt = FallbackAttempt.objects.filter(job=job).first()
    return None if attempt is None else find_shared_approval(attempt.fallback_id)


def find_shared_approval(fallback: UUID) -> Approval | None:
    """Return the approval of all attempts of a request by the key of its fallback, or None if there is none."""
    return Approval.objects.filter(
        job__attempt__fallback=fallback, job__attempt__number=1, decision=Approval.Decision.APPROVED,
        attempts__isnull=False,
    ).first()  # fmt: skip


def attempt_number(job: Job) -> int:
    """Return the number of this attempt in its request, 1 for a job without further attempts."""
    return FallbackAttempt.objects.filter(job=job).values_list("number", flat=True).first() or 1


@dataclass(frozen=True, slots=True)
class AttemptApproval:
    """The approval of all attempts of a request, and the number of one of them."""

    approval: Approval
    number: int

    def covers(self, assessment: Assessment) -> bool:
        """Return whether the approval covers this attempt, given its current assessment."""
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
    """Return the codes of what was asked about one attempt. A finding without an attempt is about the first one."""
    return {str(finding.get("code")) for finding in approval.findings if finding.get("attempt", 1) == number}


def has_all_votes(approval: Approval) -> bool:
    """Return whether each group has as many recorded votes as it needed.

    A vote counts for the groups that its person was in when it was given. If a single vote was needed, it may be
    missing, because votes were not recorded before several could be needed.
    """
    votes = Vote.objects.filter(job=approval.job_id, asked_at=approval.asked_at, decision=Approval.Decision.APPROVED)
    groups = groups_of(approval)
    if len(groups) == 1:
        return approval.votes_needed <= 1 or votes.count() >= approval.votes_needed
    counted = (each if each is not None else [0] for each in votes.values_list("groups", flat=True))
    given = Counter(position for positions in counted for position in positions)
    return all(given[position] >= group.approvals for position, group in enumerate(groups))


def needs_more_approvers(assessment: Assessment, approval: Approval) -> bool:
    """Return whether the rule that decides now asks for more or other people than those who approved."""
    rule: Rule | None = assessment.decision.rule if assessment.decision is not None else None
    if rule is None or rule.outcome != "ask":
        return False
    return not all(is_group_covered(asked, groups_of(approval)) for asked in rule.groups)


def is_group_covered(asked: Approvers, groups: Iterable[Approvers]) -> bool:
    """Return whether the approval of one of `groups` also counts as the approval of `asked`."""
    return any(_is_as_much(group, asked) for group in groups)


def _is_as_much(approved: Approvers, asked: Approvers) -> bool:
    return (
        approved.approvals >= asked.approvals
        and (asked.role != "lead" or approved.role == "lead")
        and (not asked.approvers or set(asked.approvers) == set(approved.approvers))
    )
