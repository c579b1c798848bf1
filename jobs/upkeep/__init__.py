"""Tasks that keep the rows right: repair, retention, spending limits, open approvals, sums of ended jobs, and audit."""

from jobs.upkeep.approvals import extend_open_approvals, watch_approvals
from jobs.upkeep.caps import watch_caps
from jobs.upkeep.fallbacks import watch_fallbacks
from jobs.upkeep.figures import count_all, count_ended, standard_price
from jobs.upkeep.month_figures import fold as fold_months
from jobs.upkeep.repair import repair
from jobs.upkeep.resource_lifetimes import end_lifetimes, warn_of_ends
from jobs.upkeep.schedules import watch_schedules
from jobs.upkeep.seals import seal_audit_log
from jobs.upkeep.spending import watch_spending
from jobs.upkeep.start_repair import repair_starts

__all__ = [
    "count_all",
    "count_ended",
    "end_lifetimes",
    "extend_open_approvals",
    "fold_months",
    "repair",
    "repair_starts",
    "seal_audit_log",
    "standard_price",
    "warn_of_ends",
    "watch_approvals",
    "watch_caps",
    "watch_fallbacks",
    "watch_schedules",
    "watch_spending",
]
