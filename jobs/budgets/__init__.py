"""Budgets: stored sums of spending, what is left of a budget, reservations, and changes of budgets."""

from jobs.budgets.ceilings import ceilings_for, check_ceiling, has_ceilings, load_ceilings, set_ceiling
from jobs.budgets.drift import find_drift, mend_drift
from jobs.budgets.groups import groups_of_resource, month_of
from jobs.budgets.left import left_for, left_for_job, left_for_submission, left_of, with_sums
from jobs.budgets.record import cents_by_month, lock_teams, record_spend
from jobs.budgets.reserve import check_and_reserve
from jobs.budgets.resource_cost import ResourceCost, cost_of_resource
from jobs.budgets.resources import OUTAGE, commit_resource, committed_usd_of
from jobs.budgets.settings import BudgetValues, change_budget, check_change, close_budget, create_budget
from jobs.budgets.spent import Spent, Use, list_uses, spent, sum_uses
from jobs.budgets.watch import record_all, watch_budgets

__all__ = [
    "OUTAGE",
    "BudgetValues",
    "ResourceCost",
    "Spent",
    "Use",
    "ceilings_for",
    "cents_by_month",
    "change_budget",
    "check_and_reserve",
    "check_ceiling",
    "check_change",
    "close_budget",
    "commit_resource",
    "committed_usd_of",
    "cost_of_resource",
    "create_budget",
    "find_drift",
    "groups_of_resource",
    "has_ceilings",
    "left_for",
    "left_for_job",
    "left_for_submission",
    "left_of",
    "list_uses",
    "load_ceilings",
    "lock_teams",
    "mend_drift",
    "month_of",
    "record_all",
    "record_spend",
    "set_ceiling",
    "spent",
    "sum_uses",
    "watch_budgets",
    "with_sums",
]
