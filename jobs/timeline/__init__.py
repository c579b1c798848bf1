"""Events become what a page shows: spans, lanes, waits, restarts. Read only, and always asked with the time."""

from jobs.timeline.attempts import ATTEMPT_BEGINS, Attempt, Attempts, attempts
from jobs.timeline.entries import Entry, entries
from jobs.timeline.holdings import Holding, holdings, known_resource
from jobs.timeline.ledger import Grant, ledger
from jobs.timeline.spans import BILLABLE, Facts, Span, billable, facts, running, state_spans, waited
from jobs.timeline.story import Lane, Mark, Phase, Story, story
from jobs.timeline.trials import Metric, Step, Study, length_of, progress, ranked, study, study_spec, value_of
from jobs.timeline.waiting import Allowance, WaitReason, allowance, wait_reason

__all__ = [
    "ATTEMPT_BEGINS",
    "BILLABLE",
    "Allowance",
    "Attempt",
    "Attempts",
    "Entry",
    "Facts",
    "Grant",
    "Holding",
    "Lane",
    "Mark",
    "Metric",
    "Phase",
    "Span",
    "Step",
    "Story",
    "Study",
    "WaitReason",
    "allowance",
    "attempts",
    "billable",
    "entries",
    "facts",
    "holdings",
    "known_resource",
    "ledger",
    "length_of",
    "progress",
    "ranked",
    "running",
    "state_spans",
    "story",
    "study",
    "study_spec",
    "value_of",
    "wait_reason",
    "waited",
]
