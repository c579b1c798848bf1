"""Check a submission by the rules: under its own strategy, another one, or several."""

from collections.abc import Mapping, Sequence
from itertools import islice

from jobs.spec import Finding, Severity, Submission
from jobs.strategies.base import OFF, Known, Problem, Rule, Severities, Strategy
from jobs.strategies.registry import RULES, strategy_of
from jobs.strategies.rule_lists import rules_of_kind
from jobs.strategies.rules.exclusions import EXCLUSIONS
from jobs.texts import Text
from jobs.texts import translatable as _

SEVERITIES: Mapping[str, Severity] = {str(severity): severity for severity in Severity}
MAX_OF_RULE = 50
"""Findings of one rule that are listed. Further ones are counted only."""
MAX_COUNTED = 10_000
"""Further findings that are counted, so that the time a rule takes has a bound."""
MORE = _("%(count)s more like these, which are not listed.").msgid
MORE_THAN = _("More than %(count)s more like these, which are not listed.").msgid
PLACES = {code: place for place, code in enumerate(RULES)}


def check(
    submission: Submission,
    *,
    strategy: Strategy | None = None,
    severities: Severities | None = None,
    resources: Known = (),
) -> list[Finding]:
    """Return the findings of the rules for every job and for its strategy, in the order of the rules. Never raise.

    `strategy` replaces the strategy of the submission. `severities` are those that a site has set, `{code: severity or
    "off"}`; an unknown severity is ignored. `resources` are the known persistent resources, with what other jobs use of
    them.
    """
    checked_as = strategy or strategy_of(submission)
    return _found((*rules_of_kind(submission), *checked_as.rules), submission, severities or {}, resources)


def check_each(
    asked: Sequence[tuple[Strategy, Submission]], *, severities: Severities | None = None, resources: Known = ()
) -> list[list[Finding]]:
    """Return the findings of `check` for one job under several strategies; `asked` has each with its submission.

    The submissions are the results of `Strategy.apply`. Rules that do not depend on the strategy are applied once.
    """
    if not asked:
        return []
    severities, rules = severities or {}, rules_of_kind(asked[0][1])
    everywhere = _found([rule for rule in rules if not rule.by_strategy], asked[0][1], severities, resources)
    by_strategy = [rule for rule in rules if rule.by_strategy]
    return [
        sorted(
            [*everywhere, *_found((*by_strategy, *strategy.rules), job, severities, resources)],
            key=lambda found: PLACES[found.code],
        )
        for strategy, job in asked
    ]


def conflicts(submission: Submission) -> list[Finding]:
    """Return findings about fields that the job's strategy excludes and `Strategy.apply` would remove."""
    return _found(EXCLUSIONS, submission, {}, ())


def confirmable(submission: Submission) -> list[Problem]:
    """Return the problems that a person may confirm: what Trainboard does not know. Each is in the list once."""
    rules = [rule for rule in rules_of_kind(submission) if rule.severity is Severity.APPROVAL]
    found = (problem for rule in rules for problem in rule.find(submission, ()) if problem.confirm)
    return list({problem.confirm: problem for problem in found}.values())


def _found(rules: Sequence[Rule], submission: Submission, severities: Severities, resources: Known) -> list[Finding]:
    return [
        finding
        for rule in rules
        if severities.get(rule.code) != OFF
        for finding in _of_rule(rule, submission, SEVERITIES.get(severities.get(rule.code, "")), resources)
    ]


def _of_rule(rule: Rule, submission: Submission, severity: Severity | None, resources: Known) -> list[Finding]:
    """Return the findings of a rule; beyond MAX_OF_RULE there is one more that counts the rest, up to MAX_COUNTED."""
    problems = iter(rule.find(submission, resources))
    listed, rest = list(islice(problems, MAX_OF_RULE)), list(islice(problems, MAX_COUNTED + 1))
    found = [rule.finding(problem, submission, severity) for problem in listed]
    if rest:
        # What is not listed cannot be confirmed either.
        worst = Severity.ERROR if any(problem.confirm for problem in (*listed, *rest)) else found[-1].severity
        words = _(MORE, count=f"{len(rest):,}")
        if len(rest) > MAX_COUNTED:
            words = _(MORE_THAN, count=f"{MAX_COUNTED:,}")
        found.append(Finding(rule.code, worst, found[-1].field, words))
    return found


def counts_rest(finding: Finding) -> bool:
    """Return whether a finding is the one that counts what is not listed of its rule."""
    return isinstance(finding.message, Text) and finding.message.msgid in (MORE, MORE_THAN)
