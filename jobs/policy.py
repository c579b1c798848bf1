"""What the policy of a team has against a job, and who has to approve it. Pure.

A policy is a list of rules, read from top to bottom: the first that allows, asks or refuses decides; each that requires
or sets something counts wherever it stands (`jobs.policy_values`). A job that no rule speaks of is allowed.
`jobs.assessment` alone calls this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jobs.budget import BudgetLeft
from jobs.cost import Estimate, format_usd, round_up
from jobs.cost.notes import in_words
from jobs.policy_rules import Facts, Rule, facts_of, matches
from jobs.policy_words import describe, who_decides
from jobs.spec import Finding, Severity, Submission

SOURCE = "policy of the team"


@dataclass(frozen=True, slots=True)
class Limits:
    """The policy of a team: the version that a lead saved, or three limits where no version was saved.

    `rules` None: the three limits count, as the rules that say the same (`rules_of`). Amounts are USD.
    """

    ask_over_usd: Decimal
    """A job that may cost more than this needs an approval; zero asks about whatever costs anything."""
    refuse_over_usd: Decimal | None
    """A job that may cost more than this is refused; None: no job is too expensive."""
    regions: tuple[str, ...]
    """Regions that may be used; empty: every region."""
    rules: tuple[Rule, ...] | None = None
    version: int = 0
    """Of the rules; 0: they were never saved as rules."""
    drift_percent: int = 0
    """By how much the cost may rise after an approval before the job is asked about again."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What policy says of a job: findings, the rule that decided with its number, counted from 1, and the figures."""

    findings: tuple[Finding, ...]
    rule: Rule | None
    number: int
    facts: Facts
    limit_usd: Decimal | None
    """The least amount over which a rule asks about a job like this, None where none does."""
    version: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return JSON, as the event and the approval of a job keep it."""
        rule, needs = self.rule, None
        if rule is not None and rule.outcome == "ask":
            needs = {"approvals": rule.approvals, "role": rule.role, "approvers": list(rule.approvers)}
        return {
            "version": self.version,
            "rule": self.number or None,
            "words": describe(rule) if rule is not None else "No rule speaks of it.",
            "figures": self.facts.as_dict(),
            "needs": needs,
        }


def rules_of(limits: Limits) -> tuple[Rule, ...]:
    """Return the rules of a policy; where none were saved, those that say the same as its three limits."""
    if limits.rules is not None:
        return limits.rules
    rules = [Rule(outcome="refuse", regions=limits.regions, in_other_regions=True)] if limits.regions else []
    if limits.refuse_over_usd is not None:
        rules.append(Rule(outcome="refuse", cost_over=limits.refuse_over_usd))
    rules += [Rule(outcome="ask", cost_unknown=True), Rule(outcome="ask", cost_over=limits.ask_over_usd)]
    return tuple(rules)


def check(submission: Submission, estimate: Estimate, limits: Limits, *, jobs: int = 1) -> tuple[Finding, ...]:
    """Return what policy has against a submission; of a sweep, against all its `jobs` together."""
    return decide(submission, estimate, limits, jobs=jobs).findings


def decide(
    submission: Submission,
    estimate: Estimate,
    limits: Limits,
    *,
    jobs: int = 1,
    submitter: str = "",
    budgets: Sequence[BudgetLeft] = (),
) -> Decision:
    """Return what policy says of a submission, and by which rule; of a sweep, of all its `jobs` together."""
    rules = rules_of(limits)
    facts = facts_of(submission, estimate, jobs=jobs, submitter=submitter, budgets=budgets)
    found = [
        finding
        for number, rule in enumerate(rules, 1)
        if rule.outcome == "require" and matches(rule, facts)
        for finding in _missing(rule, submission, limits, number)
    ]
    deciding = ((at, each) for at, each in enumerate(rules, 1) if each.outcome in ("allow", "ask", "refuse"))
    number, rule = next(((at, each) for at, each in deciding if matches(each, facts)), (0, None))
    if rule is not None and rule.outcome != "allow":
        found.append(_finding(rule, facts, estimate.times(jobs), limits, number, jobs))
    return Decision(tuple(found), rule, number, facts, _limit(rules, facts), limits.version)


def _limit(rules: tuple[Rule, ...], facts: Facts) -> Decimal | None:
    """Return the least amount over which a rule would ask about this job if it cost as much."""
    amounts = [
        rule.cost_over
        for rule in rules
        if rule.outcome == "ask"
        and rule.cost_over is not None
        and matches(rule.model_copy(update={"cost_over": None, "cost_unknown": False}), facts)
    ]
    return min(amounts, default=None)


# ---------------------------------------------------------------- what people read
def _finding(rule: Rule, facts: Facts, estimate: Estimate, limits: Limits, number: int, jobs: int) -> Finding:
    severity = Severity.ERROR if rule.outcome == "refuse" else Severity.APPROVAL
    code, message, remedy = _words(rule, facts, estimate, jobs)
    if limits.version:
        who = f" Decided by {who_decides(rule)}." if rule.outcome == "ask" else ""
        message = f"{rule.words} {message}" if rule.words else message
        message += f" (Policy {limits.version}, rule {number}.){who}"
    return Finding(code=code, severity=severity, field="", message=message, remedy=remedy, source=SOURCE)


def _words(rule: Rule, facts: Facts, estimate: Estimate, jobs: int) -> tuple[str, str, str]:
    """Return code, message and remedy of a rule that asks or refuses."""
    conditions = rule.model_dump(exclude_defaults=True).keys() - {"outcome", "words", "approvals", "role", "approvers"}
    if conditions == {"regions", "in_other_regions"} and rule.outcome == "refuse":
        where = facts.region or "a job without a region"
        return "region_not_allowed", f"The team may not use {where}.", f"Choose one of {', '.join(rule.regions)}."
    if conditions == {"cost_over"} and rule.cost_over is not None:
        limit, spends = format_usd(rule.cost_over), _spends(estimate, jobs)
        if rule.outcome == "refuse":
            return "over_refuse_limit", f"{spends} The team refuses jobs over {limit}.", _remedy(estimate)
        expected = estimate.expected_usd
        helps = expected is not None and expected <= rule.cost_over and _ends_at_timeout(estimate)
        return "over_ask_limit", f"{spends} Jobs over {limit} need an approval.", _SHORTER_TIMEOUT if helps else ""
    if conditions == {"cost_unknown"} and rule.outcome == "ask":
        why = "Nobody can say what this job will cost, so somebody has to approve it."
        return "cost_unknown", f"{why} {_why_unknown(estimate)}", ""
    begin = f"{_spends(estimate, jobs)} " if rule.cost_over is not None else ""
    code = "_".join(["policy", "refuses" if rule.outcome == "refuse" else "asks", *sorted(conditions)])[:80]
    return code, f"{begin}The policy says: {describe(rule)}.", ""


def _missing(rule: Rule, submission: Submission, limits: Limits, number: int) -> list[Finding]:
    """Return an error for each thing that a rule requires and the job lacks."""
    spec, job = submission.job_spec, submission.job
    where = f" (Policy {limits.version}, rule {number}.)" if limits.version else ""
    wanted = [
        (any(key not in job.labels for key in rule.require_labels), "labels", "labels",
         f"It lacks {', '.join(key for key in rule.require_labels if key not in job.labels)} among its labels."),
        (rule.require_service_account and not spec.service_account, "service_account",
         submission.spec_field("serviceAccount"), "It names no service account."),
        (rule.require_network and not spec.network and spec.psc_interface_config is None, "network",
         submission.spec_field("network"), "It names no network."),
        (rule.require_encryption and not (job.encryption_spec and job.encryption_spec.kms_key_name), "encryption",
         "encryptionSpec.kmsKeyName", "It names no encryption key."),
        (rule.require_timeout and spec.scheduling.timeout is None, "timeout",
         submission.spec_field("scheduling.timeout"), "It has no timeout."),
    ]  # fmt: skip
    return [
        Finding(
            code=f"policy_requires_{name}",
            severity=Severity.ERROR,
            field=path,
            message=f"{words} The policy of the team requires it.{where}",
            remedy=rule.words,
            source=SOURCE,
        )
        for is_missing, name, path, words in wanted
        if is_missing
    ]


def _why_unknown(estimate: Estimate) -> str:
    missing = dict.fromkeys(line.resource for line in estimate.lines if line.unit_usd is None)
    if missing:
        return f"No price is known for {', '.join(missing)}."
    return "With that many machines that may be preempted it might never finish."


_CHEAPER = "Run it for a shorter time, on fewer or smaller machines, or under another strategy."
_SHORTER_TIMEOUT = "Set a shorter timeout, the longest time that a run may really take."


def _remedy(estimate: Estimate) -> str:
    return f"{_SHORTER_TIMEOUT} {_CHEAPER}" if _ends_at_timeout(estimate) else _CHEAPER


def _ends_at_timeout(estimate: Estimate) -> bool:
    """Whether it is the timeout that makes the job dear: the most is what runs cost that last until then."""
    most, expected = estimate.most_usd, estimate.expected_usd
    return most is not None and most == estimate.until_timeout_usd and most != expected


def _spends(estimate: Estimate, jobs: int) -> str:
    expected, most = estimate.expected_usd, estimate.most_usd
    what, cost = ("It", "costs") if jobs == 1 else (f"The {jobs} jobs of the sweep together", "cost")
    if expected is None:
        return f"{what} may cost {format_usd(most or Decimal(0))}."
    begin = f"{what} {'is' if jobs == 1 else 'are'} expected to cost {format_usd(expected)}"
    if most is None or format_usd(most) == format_usd(expected):
        return f"{begin}."
    if not _ends_at_timeout(estimate):
        return f"{begin} and {cost} at most {format_usd(round_up(most))}."
    time = in_words(estimate.timeout_hours)
    why = f"until its timeout of {time}" if estimate.has_timeout else f"for {time}, as no timeout is set"
    each = "each of its trials" if estimate.trials > 1 else "it" if jobs == 1 else "each"
    return f"{begin} and {cost} at most {format_usd(round_up(most))}, because {each} may run {why}."
