"""The five strategies for getting capacity, and the rules that check jobs.

`check` applies the rules of every job and those of its strategy to a submission. Rules return findings and never raise.
"""

from jobs.strategies.base import OFF, Known, KnownResource, Rule, Severities, Strategy
from jobs.strategies.checks import check, check_each, conflicts
from jobs.strategies.permissions import Permission, permissions_of
from jobs.strategies.registry import RULES, STANDARD, STRATEGIES, is_on_resource, max_wait, strategy_label, strategy_of

__all__ = [
    "OFF",
    "RULES",
    "STANDARD",
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
    "is_on_resource",
    "max_wait",
    "permissions_of",
    "strategy_label",
    "strategy_of",
]
