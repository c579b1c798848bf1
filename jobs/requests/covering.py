"""What people have approved: whether as many did as were asked, and whether it holds for a further attempt.

A request with further attempts is asked about once, with all of them: `Approval.attempts`. An attempt that is made
later begins without another question where it is what was planned then, costs no more than was planned, and policy asks
for nothing that was not agreed to. What passes a budget is always asked about anew, as what is left of one changes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from jobs.assessment import Assessment
from jobs.models import Approval, FallbackAttempt, Job, Vote
from jobs.policy_rules import Approvers, Rule
from jobs.requests.approver_groups import groups_of

ALWAYS_ASKED = frozenset({"over_budget"})
"""Codes of findings that the approval of a planned attempt never answers."""


def approval_of(job: Job) -> Approval | None:
    """Return the approval that a job stands on: its own, else that of all attempts of its request.

    A job that was asked about itself has no other, also where the answer was no.
    """
    own = Approval.objects.filter(job=job).first()
    if own is not None:
        return own if own.decision == Approval.Decision.APPROVED else None
    attempt = FallbackAttempt.objects.filter(job=job).first()
    return None if attempt is None else approval_of_all(attempt.fallback_id)


def approval_of_all(fallback: UUID) -> Approval | None:
    """Return the approval of all attempts of a request, by the key of its fallback; None where there is none."""
    return Approval.objects.filter(
        job__attempt__fallback=fallback, job__attempt__number=1, decision=Approval.Decision.APPROVED,
        attempts__isnull=False,
    ).first()  # fmt: skip


def number_of(job: Job) -> int:
    """Return which attempt of its request a job is; 1 for a job without further ones."""
    return FallbackAttempt.objects.filter(job=job).values_list("number", flat=True).first() or 1


@dataclass(frozen=True, slots=True)
class Agreed:
    """The approval of all attempts of a request, and which of them a job is."""

    approval: Approval
    number: int

    def covers(self, assessments: Iterable[Assessment]) -> bool:
        """Tell whether the approval holds for this attempt, of a sweep for all of its jobs, as they are judged now."""
        return all(covers_attempt(self.approval, self.number, each) for each in assessments)


def covers_attempt(approval: Approval, number: int, assessment: Assessment) -> bool:
    """Tell whether the approval of all attempts holds for one of them, a further one, as it is judged now."""
    planned: Mapping[str, Any] | None = next(
        (each for each in approval.attempts or () if each["number"] == number), None
    )
    if planned is None or not has_votes(approval):
        return False
    submission = assessment.submission
    if (planned["digest"], planned["project"]) != (submission.digest, submission.project):
        return False
    codes = {str(each.code) for each in assessment.approvals}
    if codes & ALWAYS_ASKED or not codes <= codes_of(approval, number) or asks_more(assessment, approval):
        return False
    if assessment.max_usd is None or planned["max_usd"] is None:
        return assessment.max_usd is None and planned["max_usd"] is None
    return assessment.max_usd <= Decimal(planned["max_usd"])


def codes_of(approval: Approval, number: int) -> set[str]:
    """Return the codes of what was asked about one attempt; a finding that names none is about the first."""
    return {str(each.get("code")) for each in approval.findings if each.get("attempt", 1) == number}


def has_votes(approval: Approval) -> bool:
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


def asks_more(assessment: Assessment, approval: Approval) -> bool:
    """Tell whether the rule that decides now asks more people, or others, than those who approved."""
    rule: Rule | None = assessment.decision.rule if assessment.decision is not None else None
    if rule is None or rule.outcome != "ask":
        return False
    return not all(is_covered(asked, groups_of(approval)) for asked in rule.groups)


def is_covered(asked: Approvers, groups: Iterable[Approvers]) -> bool:
    """Tell whether the approval of one of the groups stands for that of another."""
    return any(_is_as_much(each, asked) for each in groups)


def _is_as_much(approved: Approvers, asked: Approvers) -> bool:
    return (
        approved.approvals >= asked.approvals
        and (asked.role != "lead" or approved.role == "lead")
        and (not asked.approvers or set(asked.approvers) == set(approved.approvers))
    )
