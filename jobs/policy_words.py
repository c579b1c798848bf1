"""How a rule of a team's policy reads: one sentence for people. Pure."""

from collections.abc import Iterable

from jobs.cost import format_usd
from jobs.policy_rules import Rule

BASES: dict[str, str] = {
    "most": "may cost",
    "expected": "is expected to cost",
    "high": "costs, by the high end of its estimate,",
    "low": "costs, by the low end of its estimate,",
}


def describe(rule: Rule) -> str:
    """Return the rule as one sentence, for example "Ask 2 leads if a job may cost over $500.00, on Spot"."""
    conditions = ", ".join(_conditions(rule))
    every = {"ask": " about every job", "require": " of every job", "set": " in every job"}.get(
        rule.outcome, " every job"
    )
    return f"{_outcome(rule)}{f' if a job {conditions}' if conditions else every}"


def _outcome(rule: Rule) -> str:
    if rule.outcome == "ask":
        return f"Ask {who_decides(rule)}"
    if rule.outcome == "require":
        return f"Require {', '.join(_requirements(rule)) or 'nothing'}"
    if rule.outcome == "set":
        others = ", and refuse other values," if rule.must else ""
        return f"Set {', '.join(_settings(rule)) or 'nothing'}{others}"
    return rule.outcome.capitalize()


def who_decides(rule: Rule) -> str:
    """Return who has to approve, for example "2 of lena, sam" or "1 approver or lead"."""
    if rule.approvers:
        return f"{rule.approvals} of {', '.join(rule.approvers)}"
    who = "lead" if rule.role == "lead" else "approver or lead"
    plural = who.replace("approver", "approvers").replace("lead", "leads")
    return f"{rule.approvals} {who if rule.approvals == 1 else plural}"


def _requirements(rule: Rule) -> Iterable[str]:
    if rule.require_labels:
        yield f"the label{'s' if len(rule.require_labels) > 1 else ''} {', '.join(rule.require_labels)}"
    for is_required, what in (
        (rule.require_service_account, "a service account"),
        (rule.require_network, "a network"),
        (rule.require_encryption, "an encryption key"),
        (rule.require_timeout, "a timeout"),
    ):
        if is_required:
            yield what


def _settings(rule: Rule) -> Iterable[str]:
    if rule.set_labels:
        yield f"the label{'s' if len(rule.set_labels) > 1 else ''} {', '.join(rule.set_labels)}"
    if rule.set_timeout_hours is not None:
        yield f"a timeout of {rule.set_timeout_hours.normalize():f} h"
    for value, what in (
        (rule.set_service_account, "the service account"),
        (rule.set_network, "the network"),
        (rule.set_encryption_key, "the encryption key"),
    ):
        if value:
            yield f"{what} {value}"


def _conditions(rule: Rule) -> Iterable[str]:
    if rule.cost_unknown:
        yield "has a cost that is not known"
    if rule.cost_over is not None:
        yield f"{BASES[rule.cost_basis]} over {format_usd(rule.cost_over)}"
    if rule.gpus_over is not None:
        yield f"has over {rule.gpus_over} accelerators"
    for words, begin in (
        (rule.gpu_types, "uses"),
        (rule.strategies, "runs under"),
        (tuple(kind.replace("_", " ") for kind in rule.kinds), "is a"),
        (rule.regions, "runs outside" if rule.in_other_regions else "runs in"),
        (rule.labels, "has the label"),
        (rule.submitters, "is requested by"),
    ):
        if words:
            yield f"{begin} {' or '.join(words)}"
    if rule.budget_left_under is not None:
        yield f"leaves less than {format_usd(rule.budget_left_under)} of a budget"
    if rule.hours_over is not None:
        yield f"runs for over {rule.hours_over.normalize():f} h"
