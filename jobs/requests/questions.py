"""The questions that approvers are asked about requests: what has to be approved, by whom, and until when.

A request with further attempts has one question about all of them. Each attempt is assessed as if it were requested
now.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from jobs import fallback
from jobs.assessment import Assessment, assess
from jobs.fallback import Plan
from jobs.models import Approval, AskedGroup, Job
from jobs.policy_rules import Approvers
from jobs.requests.approval_coverage import is_group_covered
from jobs.requests.context import RequestOptions, load_context
from jobs.requests.policy_versions import current_version, terms_of
from jobs.strategies import strategy_of
from jobs.texts import as_json, from_json
from jobs.texts import translatable as _

ONE_APPROVER = Approvers()
"""The approvers if a rule of the site asks for an approval and the policy does not."""


@dataclass(frozen=True, slots=True)
class Question:
    """What approvers are asked about a request.

    `findings` are JSON; a finding about a further attempt has its number as `attempt`. `policy` is the JSON of
    `jobs.policy.Decision`, which names who has to approve. It is None if a rule of the site asks and the policy does
    not; then one approver is enough. `attempts` are all attempts that the answer covers, or None for this job only.
    """

    findings: Sequence[Mapping[str, Any]]
    policy: Mapping[str, Any] | None
    attempts: Sequence[Mapping[str, Any]] | None = None


def build_questions(assessments: Sequence[Assessment], options: RequestOptions) -> Sequence[Question | None]:
    """Return the question about each requested job, or None for each of them if nothing has to be approved."""
    asks = [finding for assessment in assessments for finding in assessment.asks]
    if options.plan is None:
        found = [Question(assessment.asks or asks, assessment.as_dict()["policy"]) for assessment in assessments]
    else:
        further = _assess_further(assessments, options.plan, options)
        found = [
            _question_about(first, first.asks or asks, others)
            for first, others in zip(assessments, further, strict=True)
        ]
    return found if any(question.findings for question in found) else [None] * len(found)


def _assess_further(first: Sequence[Assessment], plan: Plan, options: RequestOptions) -> list[list[Assessment]]:
    """Return the assessments of the further attempts of each of the first ones.

    Each attempt has the cap of the request. The rest of the total amount is not known before the attempts are made.
    """
    found: list[list[Assessment]] = [[] for _ in first]
    for step in plan.steps:
        submissions = [fallback.apply(assessment.submission, step) for assessment in first]
        context = load_context(
            options.team, submissions[0], now=options.now, sweep_size=len(first), by=options.by, has_identical=False,
            expected=options.expected, cap_usd=options.cap_usd,
        )  # fmt: skip
        for attempts, submission in zip(found, submissions, strict=True):
            attempts.append(assess(submission, context, expected=options.expected))
    return found


def _question_about(first: Assessment, asks: Sequence[Mapping[str, Any]], further: Sequence[Assessment]) -> Question:
    """Return one question about all attempts. `asks` are the findings to ask about the first one.

    Everybody who would have to approve one of the attempts is asked. An attempt that would be refused is left out.
    """
    attempts = [(number, assessment) for number, assessment in enumerate((first, *further), 1) if not assessment.errors]
    findings = [*asks]
    for number, assessment in attempts:
        if number > 1:
            findings += [_finding_about(number, assessment, finding) for finding in assessment.asks]
    asking = [assessment for _number, assessment in attempts if assessment.approvals]
    policy = _merge_policies(asking[0] if asking else first, asking)
    return Question(findings, policy, [_attempt_json(number, assessment) for number, assessment in attempts])


def _finding_about(number: int, assessment: Assessment, finding: Mapping[str, Any]) -> dict[str, Any]:
    message = _(
        "Attempt %(number)s, %(strategy)s in %(region)s: %(words)s",
        number=number,
        strategy=strategy_of(assessment.submission).label,
        region=assessment.submission.region,
        words=from_json(finding["words"]["message"]),
    )
    words = finding["words"] | {"message": as_json(message)}
    return {**finding, "message": str(message), "words": words, "attempt": number}


def _merge_policies(deciding: Assessment, asking: Iterable[Assessment]) -> dict[str, Any] | None:
    """Return the policy's decision about one attempt as JSON, with the groups of approvers that any attempt needs."""
    if deciding.decision is None:
        return None
    groups: list[Approvers] = []
    for assessment in asking:
        rule = assessment.decision.rule if assessment.decision is not None else None
        asked = rule.groups if rule is not None and rule.outcome == "ask" else (ONE_APPROVER,)
        for group in asked:
            if not is_group_covered(group, groups):
                groups = [kept for kept in groups if not is_group_covered(kept, [group])] + [group]
    policy = deciding.decision.as_dict()
    if not groups:
        return policy
    first, *further = [{"approvals": g.approvals, "role": g.role, "approvers": list(g.approvers)} for g in groups]
    return policy | {"needs": first | ({"further": further} if further else {})}


def _attempt_json(number: int, assessment: Assessment) -> dict[str, Any]:
    submission, most = assessment.submission, assessment.max_usd
    return {
        "number": number,
        "strategy": strategy_of(submission).key,
        "region": submission.region,
        "project": submission.project,
        "digest": submission.digest,
        "max_usd": None if most is None else str(most),
    }


def save_question(job: Job, question: Question, *, now: datetime) -> None:
    """Save the open question about a job. It replaces an earlier question and its answer."""
    policy = question.policy
    needs = (policy or {}).get("needs") or {"approvals": 1, "role": "approver", "approvers": []}
    terms = terms_of(current_version(job.team))
    # The digest covers the spec, the maximum cost, the policy with its amounts, and all attempts.
    about = [job.spec_digest or job.spec, job.expected_seconds, str(job.max_usd), question.policy]
    about += [question.attempts] if question.attempts is not None else []
    digest = sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
    defaults = {
        "asked_at": now,
        "findings": list(question.findings),
        "decision": "",
        "decided_by": None,
        "decided_at": None,
        "comment": "",
        "votes_needed": needs["approvals"],
        "role_needed": needs["role"],
        "approver_names": _join_names(needs["approvers"]),
        "policy": policy,
        "attempts": question.attempts,
        "digest": digest,
        "decided_usd": None,
        "cap_usd": None,
        "requested_spec": None,
        "remind_at": now + timedelta(hours=terms.remind_hours) if terms.remind_hours else None,
        "expires_at": now + timedelta(hours=terms.expire_hours) if terms.expire_hours else None,
    }
    Approval.objects.update_or_create(job=job, defaults=defaults)
    if further := needs.get("further"):
        AskedGroup.objects.bulk_create(_asked_group(job, now, *each) for each in enumerate([needs, *further]))


def _asked_group(job: Job, now: datetime, position: int, needs: Mapping[str, Any]) -> AskedGroup:
    return AskedGroup(
        job=job,
        asked_at=now,
        position=position,
        votes_needed=needs["approvals"],
        role_needed=needs["role"],
        approver_names=_join_names(needs["approvers"]),
    )


def _join_names(names: Sequence[str]) -> str:
    return f",{','.join(names)}," if names else ""
