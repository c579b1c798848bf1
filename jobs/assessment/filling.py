"""What a team's policy sets in a submission before it is judged."""

from datetime import timedelta

from jobs import policy
from jobs.assessment.context import Context
from jobs.policy_rules import facts_of
from jobs.policy_values import Filled, fill
from jobs.spec import Submission
from jobs.strategies import strategy_of


def filled(submission: Submission, context: Context, expected: timedelta | None) -> Filled:
    """Return the submission with the values that policy sets; as it is where no run time or no policy is known.

    `Context.fills` is off for a job that was requested: what it lacks by now is not sent with it.
    """
    if expected is None or context.limits is None or not context.fills:
        return Filled(submission)
    rules = policy.rules_of(context.limits)
    if not any(rule.outcome == "set" for rule in rules):
        return Filled(submission)
    cost = context.estimate(submission, strategy_of(submission), expected)
    facts = facts_of(submission, cost, jobs=context.sweep_size, submitter=context.submitter, budgets=context.budgets)
    return fill(submission, rules, facts, version=context.limits.version)
