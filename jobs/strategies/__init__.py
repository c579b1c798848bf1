"""The five ways of getting capacity, and the rules that a job keeps.

`check` checks a submission by the rules of every job and those of its strategy. Rules return findings; none raises.
"""

from jobs.strategies.base import OFF, Known, KnownResource, Rule, Severities, Strategy
from jobs.strategies.checks import check, check_each, conflicts
from jobs.strategies.permissions import Permission, permissions_of
from jobs.strategies.registry import RULES, STRATEGIES, max_wait, strategy_of

__all__ = [
    "OFF",
    "RULES",
    "STRATEGIES",
    "Known",
    "KnownResource",
    "Permission",
    "Rule",
    "Severities",
    "Strategy",
    "check",
    "check_each",
    "conflicts",
    "max_wait",
    "permissions_of",
    "strategy_of",
]
