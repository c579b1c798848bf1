"""State events become spans of time, and spans become the figures that a job's row caches.

The order in which events were recorded decides the order of states; the times at which they occurred decide the
lengths. Vertex AI's clock and ours may differ, so a span never begins before the one it follows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.models import Job, JobEvent
from jobs.states import FINISHED, JobState

BILLABLE = frozenset({JobState.RUNNING, JobState.UPDATING})
"""States in which machines are ours and working. Cancelling counts as well when it follows one of them."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in one state; `end` is None while it lasts. `seen` is False where nobody looked."""

    state: str
    start: datetime
    end: datetime | None
    seen: bool = True
    attempt: int = 0

    def length(self, now: datetime) -> timedelta:
        """How long it lasted, or has lasted by `now`."""
        return max((self.end or now) - self.start, timedelta())


@dataclass(slots=True)
class Facts:
    """What the columns of a job cache."""

    state_since: datetime
    approved_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    running: timedelta = field(default_factory=timedelta)
    running_since: datetime | None = None
    restarts: int = 0


def facts(events: Iterable[JobEvent]) -> Facts:
    """Derive the cached columns from a job's events in the order they were recorded; at least one is needed."""
    rows = list(events)
    spans = state_spans(rows)
    found = Facts(state_since=spans[-1].start if spans else rows[0].occurred_at)
    found.restarts = sum(row.kind == JobEvent.Kind.RESTARTED and not row.detail.get("replica") for row in rows)
    found.approved_at = next((span.start for span in spans if span.state == JobState.APPROVED), None)
    for span in billable(spans):
        found.started_at = found.started_at or span.start
        if span.end is None:
            found.running_since = span.start
        else:
            found.running += span.end - span.start
    if spans and spans[-1].state in FINISHED:
        found.ended_at = spans[-1].start
    return found


def state_spans(events: Sequence[JobEvent]) -> list[Span]:
    """Turn state events, in recorded order, into spans; the last is open, also when its state is final."""
    spans: list[Span] = []
    attempt = 0
    for event in events:
        if event.kind != JobEvent.Kind.STATE:
            continue
        start = event.occurred_at
        if spans:
            last = spans[-1]
            start = max(start, last.start)
            spans[-1] = Span(last.state, last.start, start, attempt=last.attempt)
        if event.to_state == JobState.RUNNING and event.from_state != JobState.UPDATING:
            attempt += 1
        spans.append(Span(event.to_state, start, None, attempt=attempt))
    return spans


def billable(spans: Sequence[Span]) -> list[Span]:
    """The spans in which machines worked: running, updating, and cancelling right after one of them."""
    found: list[Span] = []
    before_was_billable = False
    for span in spans:
        is_billable = span.state in BILLABLE or (span.state == JobState.CANCELLING and before_was_billable)
        if is_billable:
            found.append(span)
        before_was_billable = is_billable
    return found


def running(job: Job, now: datetime) -> timedelta:
    """Billable time so far, from the cached columns, for lists."""
    total = timedelta(seconds=job.running_seconds)
    if job.running_since is not None:
        total += max(now - job.running_since, timedelta())
    return total


def waited(job: Job, now: datetime) -> timedelta:
    """Time from when it was allowed to be submitted (before that, from the request) until it first ran, ended, or now.

    So a submission that was put off, by a rate limit or short quota, counts as waiting.
    """
    until = job.started_at or job.ended_at or now
    return max(until - (job.approved_at or job.submitted_at or job.requested_at), timedelta())
