"""Decide whether a change of a policy or budget lets a job pass that would have been asked about. Pure.

So does a change of what is cancelled while it runs: to cancel more is power over the jobs of others, and to cancel less
lets them cost more.

A change counts as looser unless it is certain that it is not, so that no clever order of rules goes unseen.
"""

from collections.abc import Sequence

from jobs.budget import Passing
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms

STRICTNESS = {Passing.WARN: 0, Passing.ASK: 1, Passing.STOP: 2}
AMOUNTS = ("cost_over", "gpus_over", "hours_over", "person_sum_over", "team_sum_over")
"""Conditions of a rule that match more jobs when they are lower."""
LIMITING = frozenset({"ask", "refuse"})
"""Outcomes of rules from which a job is lost if an earlier rule decides about it."""
TIGHTENING = frozenset({"refuse", "require"})
"""Outcomes of rules that, added anywhere, let no further job pass."""


def is_looser(before: Sequence[Rule], after: Sequence[Rule], old: Terms, new: Terms) -> bool:
    """Return whether rules or terms may let more pass than those before.

    Certain are only: a rule that refuses or requires was added, wherever; a rule that asks was added, or its amount
    lowered, where only rules that allow follow; the amount of a rule that refuses was lowered; a rule that allows was
    removed; only the words of a rule differ.
    """
    if _terms_are_looser(old, new):
        return True
    left, kept = [*map(_without_words, before)], [*map(_without_words, after)]
    while left or kept:
        if left and kept and left[0] == kept[0]:
            left, kept = left[1:], kept[1:]
        elif kept and kept[0].outcome in TIGHTENING:
            kept = kept[1:]
        elif left and left[0].outcome == "allow":
            left = left[1:]
        elif left and kept and _is_tightened(left[0], kept[0], left[1:]):
            left, kept = left[1:], kept[1:]
        elif kept and kept[0].outcome == "ask" and not any(rule.outcome in LIMITING for rule in left):
            kept = kept[1:]
        else:
            return True
    return False


def _is_tightened(old: Rule, new: Rule, following: Sequence[Rule]) -> bool:
    """Return whether two rules that ask or refuse differ only in amounts that are lower, so that more jobs match."""
    if old.outcome not in LIMITING or (old.outcome == "ask" and any(rule.outcome in LIMITING for rule in following)):
        return False
    amounts = {name: (getattr(old, name), getattr(new, name)) for name in AMOUNTS}
    if any((before is None) != (after is None) or (before or 0) < (after or 0) for before, after in amounts.values()):
        return False
    return old.model_copy(update={name: after for name, (_, after) in amounts.items()}) == new


def _without_words(rule: Rule) -> Rule:
    return rule.model_copy(update={"words": ""})


def _terms_are_looser(old: Terms, new: Terms) -> bool:
    return (
        new.drift_percent > old.drift_percent
        or (old.cancel_over_approved and not new.cancel_over_approved)
        or (old.cancel_at_cap and not new.cancel_at_cap)
        or (new.approvers_choose_strategy and not old.approvers_choose_strategy)
        or _cancels(old) != _cancels(new)
    )


def _cancels(terms: Terms) -> dict[str, int]:
    """Return the faults for which running jobs are cancelled, with the hours until then."""
    return {code: hours for code, hours in terms.waste_hours.items() if hours}
