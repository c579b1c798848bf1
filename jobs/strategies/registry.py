"""All strategies and rules, and the strategy of a submission."""

from collections.abc import Mapping
from datetime import timedelta

from jobs.spec import Submission
from jobs.strategies import flex_start, persistent, reservation, spot, standard
from jobs.strategies.base import Rule, Strategy
from jobs.strategies.rule_lists import EVERY

STRATEGIES: dict[str, Strategy] = {
    found.STRATEGY.key: found.STRATEGY for found in (standard, spot, flex_start, reservation, persistent)
}
"""`{key: Strategy}` in the order in which people see them."""
STANDARD = standard.STRATEGY
"""What the others are compared with."""

RULES: Mapping[str, Rule] = {
    rule.code: rule for rule in (*EVERY, *(rule for found in STRATEGIES.values() for rule in found.rules))
}
"""All rules by code."""


def strategy_label(key: str) -> str:
    """Return the name of a strategy for people. Return an unknown key as it is stored."""
    return STRATEGIES[key].label if key in STRATEGIES else key


def is_on_resource(key: str) -> bool:
    """Return whether jobs of a strategy run on a persistent resource; False for an unknown key."""
    return key in STRATEGIES and STRATEGIES[key].runs_on_resource


def max_wait(submission: Submission) -> timedelta | None:
    """Return how long the job waits for machines; zero: without limit, None: its strategy sets no limit."""
    default = strategy_of(submission).default_wait
    asked = submission.job_spec.scheduling.max_wait_duration
    return default if default is None or asked is None else asked


def strategy_of(submission: Submission) -> Strategy:
    """Return the strategy of a submission.

    A persistent resource takes precedence over `scheduling.strategy`, which takes precedence over a reservation. The
    rules report invalid combinations.
    """
    by_precedence = sorted(STRATEGIES.values(), key=lambda each: each.precedence)
    return next(each for each in by_precedence if each.recognizes(submission))
