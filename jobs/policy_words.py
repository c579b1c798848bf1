"""How a rule of a team's policy reads, and why it asks about a job or refuses it, in sentences for people. Pure."""

from collections.abc import Iterable
from decimal import Decimal

from jobs.cost import Estimate, format_usd, round_up
from jobs.cost.notes import in_words
from jobs.policy_rules import Approvers, Matched, Rule

WHO = {"approvals", "role", "approvers", "further"}
"""Fields of a rule that say who approves, and nothing of the jobs that it matches."""
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
        return f"Ask {who_decides(rule.groups)}"
    if rule.outcome == "require":
        return f"Require {', '.join(_requirements(rule)) or 'nothing'}"
    if rule.outcome == "set":
        others = ", and refuse other values," if rule.must else ""
        return f"Set {', '.join(_settings(rule)) or 'nothing'}{others}"
    return rule.outcome.capitalize()


def who_decides(groups: Iterable[Approvers]) -> str:
    """Return who has to approve, for example "1 lead and 2 of lena, sam" or "1 approver or lead"."""
    return " and ".join(map(_group, groups))


def _group(group: Approvers) -> str:
    if group.approvers:
        return f"{group.approvals} of {', '.join(group.approvers)}"
    who = "lead" if group.role == "lead" else "approver or lead"
    plural = who.replace("approver", "approvers").replace("lead", "leads")
    return f"{group.approvals} {who if group.approvals == 1 else plural}"


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


# ---------------------------------------------------------------- about a job
def explain(rule: Rule, matched: Matched) -> tuple[str, str, str]:
    """Return the code, the message and the remedy of a finding: why a rule asks about a job, or refuses it."""
    estimate, jobs = matched.total, matched.jobs
    conditions = rule.model_dump(exclude_defaults=True).keys() - {"outcome", "words"} - WHO
    if conditions == {"regions", "in_other_regions"} and rule.outcome == "refuse":
        where = matched.facts.region or "a job without a region"
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
