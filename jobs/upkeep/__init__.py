"""Tasks that keep the rows right: repair, retention, spending limits, open approvals, sums of ended jobs, and audit."""

from jobs.upkeep.advice_reading import ask_about_used, used_recently
from jobs.upkeep.approvals import due_approvals, extend_open_approvals, watch_approvals
from jobs.upkeep.caps import capped_jobs, watch_caps
from jobs.upkeep.fallbacks import open_fallbacks, watch_fallbacks
from jobs.upkeep.families import file_jobs, unfiled
from jobs.upkeep.figures import count_all, count_ended, standard_price, uncounted
from jobs.upkeep.repair import expired_claims, repair, repair_times, untended
from jobs.upkeep.resource_lifetimes import end_lifetimes, ended_lifetimes, ending_soon, warn_of_ends
from jobs.upkeep.schedules import due_schedules, watch_schedules
from jobs.upkeep.seals import seal_audit_log, send_seals, unsent
from jobs.upkeep.spending import priced_jobs, watch_spending
from jobs.upkeep.start_repair import repair_starts

__all__ = [
    "ask_about_used",
    "capped_jobs",
    "count_all",
    "count_ended",
    "due_approvals",
    "due_schedules",
    "end_lifetimes",
    "ended_lifetimes",
    "ending_soon",
    "expired_claims",
    "extend_open_approvals",
    "file_jobs",
    "open_fallbacks",
    "priced_jobs",
    "repair",
    "repair_starts",
    "repair_times",
    "seal_audit_log",
    "send_seals",
    "standard_price",
    "uncounted",
    "unfiled",
    "unsent",
    "untended",
    "used_recently",
    "warn_of_ends",
    "watch_approvals",
    "watch_caps",
    "watch_fallbacks",
    "watch_schedules",
    "watch_spending",
]
