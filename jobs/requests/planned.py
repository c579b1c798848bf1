"""The further attempts of a request as its approvers see them: each judged as it would be requested now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs import fallback
from jobs.assessment import Assessment, assess
from jobs.fallback import Plan
from jobs.policy_rules import Approvers
from jobs.requests.asked import Asked
from jobs.requests.context import load_context
from jobs.requests.covering import is_covered
from jobs.strategies import strategy_of
from jobs.texts import as_json, from_json
from jobs.texts import translatable as _

ONE_APPROVER = Approvers()
"""Asked where a rule of the site asks and policy does not."""


@dataclass(frozen=True, slots=True)
class Question:
    """What approvers are asked about a request: findings, the policy that asks, and all attempts; None: there is one.

    `findings` are JSON; those about a further attempt have its number as `attempt`.
    """

    findings: Sequence[Mapping[str, Any]]
    policy: Mapping[str, Any] | None
    attempts: Sequence[Mapping[str, Any]] | None = None


def questions_about(assessments: Sequence[Assessment], asked: Asked) -> Sequence[Question | None]:
    """Return what approvers are asked about each job, one question for all of its attempts; None: about none."""
    asks = [finding for each in assessments for finding in each.asks]
    if asked.plan is None:
        found = [Question(each.asks or asks, each.as_dict()["policy"]) for each in assessments]
    else:
        further = _assess_further(assessments, asked.plan, asked)
        found = [_question_about(one, one.asks or asks, rest) for one, rest in zip(assessments, further, strict=True)]
    return found if any(each.findings for each in found) else [None] * len(found)


def _assess_further(first: Sequence[Assessment], plan: Plan, asked: Asked) -> list[list[Assessment]]:
    """Return the further attempts of each of these first ones, judged as if they were requested now.

    Each has the cap of the request. What is left of the amount for all attempts is not known before they are made.
    """
    found: list[list[Assessment]] = [[] for _ in first]
    for step in plan.steps:
        planned = [fallback.apply(each.submission, step) for each in first]
        context = load_context(
            asked.team, planned[0], now=asked.now, sweep_size=len(first), by=asked.by, has_identical=False,
            expected=asked.expected, cap_usd=asked.cap_usd,
        )  # fmt: skip
        for attempts, submission in zip(found, planned, strict=True):
            attempts.append(assess(submission, context, expected=asked.expected))
    return found


def _question_about(first: Assessment, asks: Sequence[Mapping[str, Any]], further: Sequence[Assessment]) -> Question:
    """Return one question about all attempts; `asks` is what is asked about the first one, if anything.

    Everybody who would have to approve one of them is asked. An attempt that would be refused is none of them.
    """
    attempts = [first, *further]
    findings = [*asks]
    for number, each in enumerate(further, 2):
        findings += [_about(number, each, finding) for finding in each.asks] if not each.errors else []
    asking = [each for each in attempts if each.approvals and not each.errors]
    policy = _policy(asking[0] if asking else first, asking)
    rows = [_row(number, each) for number, each in enumerate(attempts, 1) if not each.errors]
    return Question(findings, policy, rows)


def _about(number: int, assessment: Assessment, finding: Mapping[str, Any]) -> dict[str, Any]:
    message = _(
        "Attempt %(number)s, %(strategy)s in %(region)s: %(words)s",
        number=number,
        strategy=strategy_of(assessment.submission).label,
        region=assessment.submission.region,
        words=from_json(finding["words"]["message"]),
    )
    words = finding["words"] | {"message": as_json(message)}
    return {**finding, "message": str(message), "words": words, "attempt": number}


def _policy(deciding: Assessment, asking: Iterable[Assessment]) -> dict[str, Any] | None:
    """Return what policy says of the first attempt that it asks about, with the groups that any of them needs."""
    if deciding.decision is None:
        return None
    groups: list[Approvers] = []
    for each in asking:
        rule = each.decision.rule if each.decision is not None else None
        asked = rule.groups if rule is not None and rule.outcome == "ask" else (ONE_APPROVER,)
        for group in asked:
            if not is_covered(group, groups):
                groups = [kept for kept in groups if not is_covered(kept, [group])] + [group]
    policy = deciding.decision.as_dict()
    if not groups:
        return policy
    first, *further = [{"approvals": g.approvals, "role": g.role, "approvers": list(g.approvers)} for g in groups]
    return policy | {"needs": first | ({"further": further} if further else {})}


def _row(number: int, assessment: Assessment) -> dict[str, Any]:
    submission, most = assessment.submission, assessment.max_usd
    return {
        "number": number,
        "strategy": strategy_of(submission).key,
        "region": submission.region,
        "project": submission.project,
        "digest": submission.digest,
        "max_usd": None if most is None else str(most),
    }
