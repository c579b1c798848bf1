"""Turn events into what a page shows: spans, lanes, waits, restarts. Nothing is written; the time is an argument."""

from jobs.timeline.attempts import ATTEMPT_BEGINS, ATTEMPT_RUNS, Attempt, Attempts, attempts
from jobs.timeline.daily_costs import cents_by_day, days_of, to_cents
from jobs.timeline.event_rows import Entry, entries
from jobs.timeline.job_timeline import JobTimeline, Phase, build_timeline, restart_marks
from jobs.timeline.losses import Loss, Row, attempt_rows, loss_if_cut, moments_of, usual_wait
from jobs.timeline.parameter_influence import influences
from jobs.timeline.replicas import EXIT, LAST_WORDS, TAKEN, Lane, Mark, ReplicaEnd, ReplicaLog
from jobs.timeline.resource_bill import resource_bill
from jobs.timeline.resource_holdings import Holding, holdings, known_resource, resource_id_of
from jobs.timeline.resource_usage import Hold, ReplicaLane, Stretch, Usage, replica_counts, started_at, usage
from jobs.timeline.retry_budget import (
    GROUPS,
    RetryBudget,
    last_loss,
    restart_causes,
    restart_limits,
    retry_budget,
)
from jobs.timeline.spans import (
    BILLABLE,
    SPAN_KINDS,
    Before,
    Span,
    billable,
    facts,
    first_wait,
    holding,
    running,
    state_spans,
    waited,
    waiting_again,
)
from jobs.timeline.study_spec import parallel_trials, study_spec
from jobs.timeline.trial_lanes import trial_lanes
from jobs.timeline.trial_time import (
    cost_since,
    cost_so_far,
    is_running,
    machine_spans,
    machine_states,
    ran,
    state_now,
    total_run_time,
    trial_price,
    trial_time,
)
from jobs.timeline.trial_time import waited as trial_waited
from jobs.timeline.trial_words import failures, outlook, summary, to_come_words, wait_words
from jobs.timeline.trials import Metric, Step, Study, progress, ranked, study, value_of
from jobs.timeline.wait_percentiles import NEVER_RAN, wait_bucket, wait_percentile
from jobs.timeline.waiting import wait_reason

__all__ = [
    "ATTEMPT_BEGINS",
    "ATTEMPT_RUNS",
    "BILLABLE",
    "EXIT",
    "GROUPS",
    "LAST_WORDS",
    "NEVER_RAN",
    "SPAN_KINDS",
    "TAKEN",
    "Attempt",
    "Attempts",
    "Before",
    "Entry",
    "Hold",
    "Holding",
    "JobTimeline",
    "Lane",
    "Loss",
    "Mark",
    "Metric",
    "Phase",
    "ReplicaEnd",
    "ReplicaLane",
    "ReplicaLog",
    "RetryBudget",
    "Row",
    "Span",
    "Step",
    "Stretch",
    "Study",
    "Usage",
    "attempt_rows",
    "attempts",
    "billable",
    "build_timeline",
    "cents_by_day",
    "cost_since",
    "cost_so_far",
    "days_of",
    "entries",
    "facts",
    "failures",
    "first_wait",
    "holding",
    "holdings",
    "influences",
    "is_running",
    "known_resource",
    "last_loss",
    "loss_if_cut",
    "machine_spans",
    "machine_states",
    "moments_of",
    "outlook",
    "parallel_trials",
    "progress",
    "ran",
    "ranked",
    "replica_counts",
    "resource_bill",
    "resource_id_of",
    "restart_causes",
    "restart_limits",
    "restart_marks",
    "retry_budget",
    "running",
    "started_at",
    "state_now",
    "state_spans",
    "study",
    "study_spec",
    "summary",
    "to_cents",
    "to_come_words",
    "total_run_time",
    "trial_lanes",
    "trial_price",
    "trial_time",
    "trial_waited",
    "usage",
    "usual_wait",
    "value_of",
    "wait_bucket",
    "wait_percentile",
    "wait_reason",
    "wait_words",
    "waited",
    "waiting_again",
]
