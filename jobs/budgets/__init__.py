"""The ledger of costs, budgets and what is left of them, reservations, and changes of budgets."""

from jobs.budgets.ceilings import ceilings_for, check_approved, check_ceiling, has_ceilings, load_ceilings, set_ceiling
from jobs.budgets.committed import (
    MAX_LIFETIME,
    OUTAGE,
    Committed,
    OpenCosts,
    load_committed,
    load_committed_resources,
    sum_open,
    unrecorded_micros,
)
from jobs.budgets.groups import groups_of_resource, month_of
from jobs.budgets.ledger import lock_teams, micros_by_month, period_of, record_costs
from jobs.budgets.left import left_for, left_for_job, left_for_submission, left_of, load_for, with_spent
from jobs.budgets.resource_cost import ResourceCost, cost_of_resource
from jobs.budgets.settings import BudgetValues, change_budget, check_change, close_budget, create_budget
from jobs.budgets.spent import Spent, Use, list_uses, spent, sum_uses
from jobs.budgets.watch import watch_budgets

__all__ = [
    "MAX_LIFETIME",
    "OUTAGE",
    "BudgetValues",
    "Committed",
    "OpenCosts",
    "ResourceCost",
    "Spent",
    "Use",
    "ceilings_for",
    "change_budget",
    "check_approved",
    "check_ceiling",
    "check_change",
    "close_budget",
    "cost_of_resource",
    "create_budget",
    "groups_of_resource",
    "has_ceilings",
    "left_for",
    "left_for_job",
    "left_for_submission",
    "left_of",
    "list_uses",
    "load_ceilings",
    "load_committed",
    "load_committed_resources",
    "load_for",
    "lock_teams",
    "micros_by_month",
    "month_of",
    "period_of",
    "record_costs",
    "set_ceiling",
    "spent",
    "sum_open",
    "sum_uses",
    "unrecorded_micros",
    "watch_budgets",
    "with_spent",
]
