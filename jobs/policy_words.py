"""Sentences that describe a rule of a policy, and why it asks about a job or refuses it. Pure."""

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from functools import reduce

from jobs.cost import Estimate, format_usd, round_up
from jobs.policy_rules import Approvers, Matched, Rule
from jobs.texts import joined
from jobs.texts import translatable as _

WHO = {"approvals", "role", "approvers", "further"}
"""Fields of a rule that name the approvers and do not limit the jobs that match."""
KINDS = {
    "custom_job": _("custom job"),
    "hyperparameter_tuning_job": _("hyperparameter tuning job"),
    "training_pipeline": _("training pipeline"),
}

FAULTS = {
    "idle": _("when its accelerators are idle"),
    "stuck": _("when it is stuck"),
    "diverged": _("when its loss is no number any more"),
    "hopeless": _("when it will not finish before its timeout"),
    "lost_peer": _("when it waits for a lost replica"),
}
"""When a rule about running jobs applies, by the fault of `jobs.timeline.health`."""


def describe_waste(fault: str, hours: int | None) -> str:
    """Return what follows from a fault of a running job: `hours` is None to report it, 0 to ask, else to cancel."""
    if hours is None:
        return _("Tell the owner of a running job %(when)s", when=FAULTS[fault])
    if not hours:
        return _("Ask the owner of a running job %(when)s", when=FAULTS[fault])
    values = {"when": FAULTS[fault], "hours": hours}
    return _("Ask the owner of a running job %(when)s; unanswered, cancel it after %(hours)s h", **values)


def describe(rule: Rule) -> str:
    """Return the rule as one sentence, for example "Ask 2 leads if a job may cost over $500.00, on Spot"."""
    outcome, conditions = _outcome(rule), joined(*_conditions(rule), between=", ")
    if conditions:
        return _("%(outcome)s if a job %(conditions)s", outcome=outcome, conditions=conditions)
    if rule.outcome == "ask":
        return _("%(outcome)s about every job", outcome=outcome)
    if rule.outcome == "require":
        return _("%(outcome)s of every job", outcome=outcome)
    if rule.outcome == "set":
        return _("%(outcome)s in every job", outcome=outcome)
    return _("Allow every job") if rule.outcome == "allow" else _("Refuse every job")


def _outcome(rule: Rule) -> str:
    if rule.outcome == "ask":
        return _("Ask %(who)s", who=who_decides(rule.groups))
    if rule.outcome == "require":
        return _("Require %(what)s", what=joined(*_requirements(rule), between=", ") or _("nothing"))
    if rule.outcome == "set":
        what = joined(*_settings(rule), between=", ") or _("nothing")
        return _("Set %(what)s, and refuse other values,", what=what) if rule.must else _("Set %(what)s", what=what)
    return _("Allow") if rule.outcome == "allow" else _("Refuse")


def who_decides(groups: Iterable[Approvers]) -> str:
    """Return who has to approve, for example "1 lead and 2 of lena, sam" or "1 approver or lead"."""
    return reduce(lambda some, last: _("%(some)s and %(last)s", some=some, last=last), map(_group, groups))


def _group(group: Approvers) -> str:
    if group.approvers:
        return _("%(count)s of %(names)s", count=group.approvals, names=", ".join(group.approvers))
    if group.role == "lead":
        return _("1 lead") if group.approvals == 1 else _("%(count)s leads", count=group.approvals)
    return _("1 approver or lead") if group.approvals == 1 else _("%(count)s approvers or leads", count=group.approvals)


def _requirements(rule: Rule) -> Iterable[str]:
    if rule.require_labels:
        yield _labels(rule.require_labels)
    for is_required, what in (
        (rule.require_service_account, _("a service account")),
        (rule.require_network, _("a network")),
        (rule.require_encryption, _("an encryption key")),
        (rule.require_timeout, _("a timeout")),
    ):
        if is_required:
            yield what


def _labels(labels: tuple[str, ...]) -> str:
    names = ", ".join(labels)
    return _("the labels %(names)s", names=names) if len(labels) > 1 else _("the label %(name)s", name=names)


def _settings(rule: Rule) -> Iterable[str]:
    if rule.set_labels:
        yield _labels(rule.set_labels)
    if rule.set_timeout_hours is not None:
        yield _("a timeout of %(hours)s h", hours=f"{rule.set_timeout_hours.normalize():f}")
    if rule.set_service_account:
        yield _("the service account %(name)s", name=rule.set_service_account)
    if rule.set_network:
        yield _("the network %(name)s", name=rule.set_network)
    if rule.set_encryption_key:
        yield _("the encryption key %(name)s", name=rule.set_encryption_key)


def _conditions(rule: Rule) -> Iterable[str]:
    if rule.cost_unknown:
        yield _("has a cost that is not known")
    if rule.cost_over is not None:
        yield _cost(rule, format_usd(rule.cost_over))
    if rule.gpus_over is not None:
        yield _("has over %(count)s accelerators", count=rule.gpus_over)
    if rule.gpu_types:
        yield _("uses %(names)s", names=_any(rule.gpu_types))
    if rule.strategies:
        yield _("runs under %(names)s", names=_any(rule.strategies))
    if rule.kinds:
        yield _("is a %(names)s", names=_any([KINDS.get(kind, kind) for kind in rule.kinds]))
    if rule.regions:
        names = _any(rule.regions)
        yield _("runs outside %(names)s", names=names) if rule.in_other_regions else _("runs in %(names)s", names=names)
    if rule.labels:
        yield _("has the label %(names)s", names=_any(rule.labels))
    if rule.submitters:
        yield _("is requested by %(names)s", names=_any(rule.submitters))
    yield from _sums(rule)
    if rule.hours_over is not None:
        yield _("runs for over %(hours)s h", hours=f"{rule.hours_over.normalize():f}")


def _sums(rule: Rule) -> Iterable[str]:
    if rule.person_sum_over is not None:
        yield _("brings what its requester uses to over %(usd)s", usd=format_usd(rule.person_sum_over))
    if rule.team_sum_over is not None:
        yield _("brings what the team uses to over %(usd)s", usd=format_usd(rule.team_sum_over))
    if rule.budget_left_under is not None:
        yield _("leaves less than %(usd)s of a budget", usd=format_usd(rule.budget_left_under))


def _cost(rule: Rule, usd: str) -> str:
    if rule.cost_basis == "most":
        return _("may cost over %(usd)s", usd=usd)
    if rule.cost_basis == "expected":
        return _("is expected to cost over %(usd)s", usd=usd)
    if rule.cost_basis == "high":
        return _("costs, by the high end of its estimate, over %(usd)s", usd=usd)
    return _("costs, by the low end of its estimate, over %(usd)s", usd=usd)


def _any(names: Iterable[str]) -> str:
    return reduce(lambda some, last: _("%(some)s or %(last)s", some=some, last=last), names)


# ---------------------------------------------------------------- about a job
def explain(rule: Rule, matched: Matched) -> tuple[str, str, str]:
    """Return the code, message and remedy of the finding with which a rule asks about a job or refuses it."""
    estimate, jobs = matched.total, matched.jobs
    conditions = rule.model_dump(exclude_defaults=True).keys() - {"outcome", "words"} - WHO
    if conditions == {"regions", "in_other_regions"} and rule.outcome == "refuse":
        message = _("The team may not use %(region)s.", region=matched.facts.region or _("a job without a region"))
        return "region_not_allowed", message, _("Choose one of %(regions)s.", regions=", ".join(rule.regions))
    if conditions == {"cost_over"} and rule.cost_over is not None:
        limit, spends = format_usd(rule.cost_over), _spends(estimate, jobs)
        if rule.outcome == "refuse":
            message = _("The team refuses jobs over %(limit)s.", limit=limit)
            remedy = joined(*_shorter(estimate, rule.cost_over), _CHEAPER)
            return "over_refuse_limit", joined(spends, message), remedy
        message = _("Your team's limit without approval is %(limit)s.", limit=limit)
        return "over_ask_limit", joined(spends, message), joined(*_shorter(estimate, rule.cost_over))
    if conditions == {"cost_unknown"} and rule.outcome == "ask":
        why = _("The cost of this job is not known, so it needs an approval.")
        missing = ", ".join(dict.fromkeys(line.resource for line in estimate.lines if line.unit_usd is None))
        reason = _("With that many preemptible machines it might never finish.")
        if missing:
            reason = _("No price is known for %(names)s.", names=missing)
        return "cost_unknown", joined(why, reason), ""
    begin = _spends(estimate, jobs) if rule.cost_over is not None else ""
    code = "_".join(["policy", "refuses" if rule.outcome == "refuse" else "asks", *sorted(conditions)])[:80]
    return code, joined(begin, _("The policy says: %(rule)s.", rule=describe(rule))), ""


_CHEAPER = _("Run it for a shorter time, on fewer or smaller machines, or under another strategy.")
_SHORTER_TIMEOUT = _("Set a shorter timeout: the longest time that a run may take.")


def _shorter(estimate: Estimate, limit: Decimal) -> tuple[str, ...]:
    """Return the remedy of a shorter timeout, if one that is no shorter than the expected run keeps to the limit."""
    most = estimate.with_timeout(timedelta(hours=estimate.hours)) if estimate.timeout_hours else None
    # A stored estimate has no timeout.
    return (_SHORTER_TIMEOUT, estimate.shorter) if most is not None and most <= limit else ()


def _spends(estimate: Estimate, jobs: int) -> str:
    """Return a sentence with the expected and highest cost of a job, or of the jobs of a sweep together."""
    expected, most = estimate.expected_usd, estimate.most_usd
    if expected is None:
        usd = format_usd(most or Decimal(0))
        many = _("The %(jobs)s jobs of the sweep together may cost %(usd)s.", jobs=jobs, usd=usd)
        return _("It may cost %(usd)s.", usd=usd) if jobs == 1 else many
    words = {"jobs": jobs, "usd": format_usd(expected), "most": format_usd(round_up(most)) if most is not None else ""}
    begin = _("Expected %(usd)s for the %(jobs)s jobs of the sweep together", **words)
    if jobs == 1:
        begin = _("Expected %(usd)s", **words)
    if most is None or format_usd(most) == format_usd(expected):
        return _("%(begin)s.", begin=begin)
    words |= {"begin": begin, "longest": estimate.longest}
    if not estimate.has_timeout:
        return _("%(begin)s, at most %(most)s: without a timeout, Google allows %(longest)s.", **words)
    return _("%(begin)s, at most %(most)s: Google allows %(longest)s.", **words)
