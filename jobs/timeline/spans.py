"""Turn state events into spans of time, and spans into the values cached in a job's row.

The order in which events were recorded decides the order of states, and the times at which they occurred decide the
lengths. Vertex AI's clock and ours may differ, so a span never begins before the previous one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple

from jobs.models import Job, JobEvent
from jobs.states import FINISHED, WAITING_AT_VERTEX, JobState

BILLABLE = frozenset({JobState.RUNNING, JobState.UPDATING})
"""States in which the job has machines that are working. CANCELLING also counts right after one of them."""
HAS_MACHINES = "has_machines"
"""Detail of the event with which a pipeline became RUNNING: false, because only its custom jobs have machines."""
WAIT_REPORTED = "reported"
"""Reason of the event that Vertex AI reported an error of a job that has not ended; `detail["words"]` is its text."""
SPAN_KINDS = (JobEvent.Kind.STATE, JobEvent.Kind.CUSTOM_JOB_STATE, JobEvent.Kind.CORRECTED)
"""Kinds of events that spans are made of."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time in one state. `end` is None while it lasts. `seen` is False if there were no polls."""

    state: str
    start: datetime
    end: datetime | None
    seen: bool = True
    attempt: int = 0
    has_machines: bool = True
    """False while a pipeline is RUNNING before its custom job has begun, and after it has ended."""

    def length(self, now: datetime) -> timedelta:
        """Return how long the span lasted, or has lasted by `now`."""
        return max((self.end or now) - self.start, timedelta())


@dataclass(slots=True)
class Facts:
    """The values cached in the columns of a job."""

    state_since: datetime
    approved_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    running: timedelta = field(default_factory=timedelta)
    running_since: datetime | None = None
    waited_again: timedelta = field(default_factory=timedelta)
    waiting_again_since: datetime | None = None
    restarts: int = 0
    custom_job_state: str = ""
    wait_error: str = ""


class Before(NamedTuple):
    """The state at a time, for a job of which only the later events are given."""

    at: datetime
    state: str
    custom_job_state: str = ""


def holding(events: Iterable[JobEvent]) -> list[JobEvent]:
    """Return the events that hold, in order: without those that a correction revokes.

    Events are never changed. A correction names the events it revokes in `detail["revokes"]`, by their `once_key`.
    """
    rows = list(events)
    corrections = [row for row in rows if row.kind == JobEvent.Kind.CORRECTED]
    revoked = {key for row in corrections for key in row.detail.get("revokes", ())}
    return [row for row in rows if row.once_key not in revoked] if revoked else rows


def facts(events: Iterable[JobEvent]) -> Facts:
    """Derive the cached columns from a job's events in the order recorded. At least one event is needed."""
    rows = holding(events)
    spans, own = state_spans(rows), _chain(_changes(rows, JobEvent.Kind.STATE))
    found = Facts(state_since=own[-1].start if own else rows[0].occurred_at)
    found.restarts = sum(row.kind == JobEvent.Kind.RESTARTED and not row.detail.get("replica") for row in rows)
    found.approved_at = next((span.start for span in spans if span.state == JobState.APPROVED), None)
    found.custom_job_state = next((state for state, _ in reversed(_changes(rows, JobEvent.Kind.CUSTOM_JOB_STATE))), "")
    found.wait_error = _wait_error(rows)
    for span in billable(spans):
        found.started_at = found.started_at or span.start
        if span.end is None:
            found.running_since = span.start
        else:
            found.running += span.end - span.start
    for span in waits_again(spans):
        if span.end is None:
            found.waiting_again_since = span.start
        else:
            found.waited_again += span.end - span.start
    if own and own[-1].state in FINISHED:
        found.ended_at = own[-1].start
    return found


def _wait_error(events: Iterable[JobEvent]) -> str:
    """Return what Vertex AI last reported in the wait for machines that still lasts, or ""."""
    is_waiting, found = False, ""
    for event in events:
        if event.kind in (JobEvent.Kind.STATE, JobEvent.Kind.CUSTOM_JOB_STATE):
            is_waiting = event.to_state in WAITING_AT_VERTEX
            found = found if is_waiting else ""
        elif is_waiting and event.kind == JobEvent.Kind.ERROR_LEARNED and event.reason == WAIT_REPORTED:
            found = str(event.detail.get("words", ""))
    return found


def state_spans(events: Sequence[JobEvent], before: Before | None = None) -> list[Span]:
    """Turn state events, in the order recorded, into spans. The last span is open, even if its state is final.

    While a training pipeline runs, its spans are those of its custom job as far as the events contain them, because a
    pipeline stays RUNNING when its machines are preempted. `before` is needed if the events begin later than the job.
    """
    events = holding(events)
    own, custom = (_changes(events, kind) for kind in (JobEvent.Kind.STATE, JobEvent.Kind.CUSTOM_JOB_STATE))
    if before is not None:
        first = next((event for event in events if event.kind == JobEvent.Kind.CUSTOM_JOB_STATE), None)
        known = before.custom_job_state if first is None else first.from_state
        own = [(before.state, before.at), *own]
        custom = [*([(known, before.at)] if known else []), *custom]
    shown = (event for event in events if event.kind in (JobEvent.Kind.STATE, JobEvent.Kind.CORRECTED))
    of_machines = all(event.detail.get(HAS_MACHINES, True) for event in shown)
    pieces = (_by_custom_job(span, _chain(custom), has_machines=of_machines) for span in _chain(own))
    return _numbered(chain.from_iterable(pieces))


def _changes(events: Iterable[JobEvent], kind: str) -> list[tuple[str, datetime]]:
    """Return the states of one kind in the order recorded; one that a correction adds comes where its time is.

    If the same state follows it, it began earlier than recorded.
    """
    rows = list(events)
    changes = [(event.to_state, event.occurred_at) for event in rows if event.kind == kind]
    added = [event for event in rows if event.kind == JobEvent.Kind.CORRECTED and event.to_state]
    for event in added if kind == JobEvent.Kind.STATE else ():
        place = next((i for i, (_, at) in enumerate(changes) if at > event.occurred_at), len(changes))
        is_earlier = place < len(changes) and changes[place][0] == event.to_state
        changes[place : place + is_earlier] = [(event.to_state, event.occurred_at)]
    return changes


def _chain(changes: Iterable[tuple[str, datetime]]) -> list[Span]:
    """Return a span for each change, up to the next one."""
    spans: list[Span] = []
    for state, at in changes:
        start = max(at, spans[-1].start) if spans else at
        if spans:
            spans[-1] = replace(spans[-1], end=start)
        spans.append(Span(state, start, None))
    return spans


def _by_custom_job(span: Span, custom: Sequence[Span], *, has_machines: bool) -> list[Span]:
    """Divide a span of a running pipeline by the states of its custom job.

    Before the first of them it is unchanged, and `has_machines` is whether the job's own RUNNING means machines.
    """
    if span.state not in BILLABLE:
        return [span]
    span = replace(span, has_machines=has_machines)
    pieces: list[Span] = []
    for each in custom:
        start, ends = max(each.start, span.start), [end for end in (each.end, span.end) if end is not None]
        end = min(ends, default=None)
        if end is not None and end <= start:
            continue
        if not pieces and start > span.start:
            pieces.append(replace(span, end=start))
        state = span.state if each.state in BILLABLE | FINISHED else each.state
        piece = Span(state, start, end, has_machines=each.state not in FINISHED)
        if pieces and replace(pieces[-1], start=start, end=end) == piece:
            pieces[-1] = replace(pieces[-1], end=end)
        else:
            pieces.append(piece)
    return pieces or [span]


def _numbered(spans: Iterable[Span]) -> list[Span]:
    """Number the attempts. Each begins when all machines run, but not after an update of the job."""
    found: list[Span] = []
    attempt, before = 0, ""
    for span in spans:
        attempt += span.state == JobState.RUNNING and span.has_machines and before != JobState.UPDATING
        found.append(replace(span, attempt=attempt))
        before = span.state
    return found


def billable(spans: Sequence[Span]) -> list[Span]:
    """Return the spans in which machines worked: running, updating, and cancelling right after one of them."""
    found: list[Span] = []
    before_was_billable = False
    for span in spans:
        is_billable = span.state in BILLABLE or (span.state == JobState.CANCELLING and before_was_billable)
        is_billable &= span.has_machines
        if is_billable:
            found.append(span)
        before_was_billable = is_billable
    return found


def waits_again(spans: Sequence[Span]) -> list[Span]:
    """Return the spans in which a job that had run before waited for machines at Vertex AI."""
    first = next(iter(billable(spans)), None)
    after = spans[spans.index(first) :] if first is not None else ()
    return [span for span in after if span.state in WAITING_AT_VERTEX]


def running(job: Job, now: datetime) -> timedelta:
    """Return the billable time until `now` from the cached columns, for lists."""
    total = timedelta(seconds=job.running_seconds)
    if job.running_since is not None:
        total += max(now - job.running_since, timedelta())
    return total


def waited(job: Job, now: datetime) -> timedelta:
    """Return how long a job has waited by `now`: its first wait, and each wait for machines after a restart."""
    return first_wait(job, now) + timedelta(seconds=job.waited_again_seconds) + waiting_again(job, now)


def waiting_again(job: Job, now: datetime) -> timedelta:
    """Return how long a job that had run before has been waiting for machines; zero if it does not wait."""
    since = job.waiting_again_since
    # A worker of the version before this column may have ended the job without clearing it.
    return timedelta() if since is None else max((job.ended_at or now) - since, timedelta())


def first_wait(job: Job, now: datetime) -> timedelta:
    """Return how long a job waited until it first ran, ended, or `now`.

    The wait begins when the job was allowed to be submitted, or with the request before that. So a submission delayed
    by a rate limit or missing quota counts as waiting.
    """
    until = job.started_at or job.ended_at or now
    return max(until - (job.approved_at or job.submitted_at or job.requested_at), timedelta())
