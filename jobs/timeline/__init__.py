"""Events become what a page shows: spans, lanes, waits, restarts. Read only, and always asked with the time."""

from jobs.timeline.holdings import Holding, holdings
from jobs.timeline.ledger import Grant, ledger
from jobs.timeline.spans import BILLABLE, Facts, Span, billable, facts, running, state_spans, waited
from jobs.timeline.story import Lane, Mark, Phase, Story, story
from jobs.timeline.waiting import Allowance, WaitReason, allowance, wait_reason

__all__ = [
    "BILLABLE",
    "Allowance",
    "Facts",
    "Grant",
    "Holding",
    "Lane",
    "Mark",
    "Phase",
    "Span",
    "Story",
    "WaitReason",
    "allowance",
    "billable",
    "facts",
    "holdings",
    "ledger",
    "running",
    "state_spans",
    "story",
    "wait_reason",
    "waited",
]
