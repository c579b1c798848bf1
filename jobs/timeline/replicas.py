"""The lane of each replica, from its log lines, or from the job's state if the log has none.

Vertex AI has no field for a replica. A replica's own lines show when it began to run, and one of them that its machine
is taken away. A line of the service shows how it ended. A RUNNING job has all of its replicas.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from jobs.models import JobEvent
from jobs.timeline.attempts import LAST_MOMENT, Attempts
from jobs.timeline.spans import Span

LAST_WORDS = timedelta(seconds=35)
"""A replica that is stopped writes for at most thirty more seconds. Its lines may carry a slightly later time."""
EXIT, TAKEN, PREEMPTED = "exit", "taken_away", "preempted"


@dataclass(frozen=True, slots=True)
class Mark:
    """A point on a lane. `reason` is EXIT, TAKEN, or the cause of a restart. Only PREEMPTED is a preemption."""

    at: datetime
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the drawing: Trainboard, Vertex AI, a replica, or with `of_trial` a trial and its states at Vertex AI.

    The spans of a lane with `of_faults` are named by the codes of faults.

    `is_assumed` means that no line of the replica is kept, so the job's state is drawn. `note` is the reason why a
    trial waits.
    """

    name: str
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...] = ()
    is_assumed: bool = False
    of_trial: bool = False
    of_faults: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReplicaEnd:
    """The end of a replica in the log. `again_at` is the time of its next line, or None."""

    replica: str
    at: datetime
    reason: str
    message: str
    again_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """What the kept log lines show about a job's replicas.

    `ends` are in order of time. `first` is when a replica first wrote in an attempt. `torn_down_at` is when the service
    began to tear down a job whose program had succeeded.
    """

    ends: Sequence[ReplicaEnd] = ()
    first: Mapping[tuple[str, int], datetime] = field(default_factory=dict)
    torn_down_at: datetime | None = None


def replica_lane(
    name: str, work: Sequence[Span], tries: Attempts, events: Sequence[JobEvent], replica_log: ReplicaLog
) -> Lane:
    """Return the lane of a replica. `work` are the spans in which the job had its machines, by attempt."""
    again = {
        row.occurred_at: row
        for row in events
        if row.kind == JobEvent.Kind.RESTARTED and row.detail.get("replica") == name
    }
    ends = [end for end in replica_log.ends if end.replica == name]
    spans = [span for whole in _attempts(name, work, tries, replica_log) for span in _cut(whole, ends, again, tries)]
    marks = tuple(_mark(end, again.get(end.at), events) for end in ends)
    is_heard = bool(ends) or any(replica == name for replica, _ in replica_log.first)
    return Lane(name, tuple(spans), marks, is_assumed=not is_heard and bool(spans))


def _attempts(name: str, work: Sequence[Span], tries: Attempts, replica_log: ReplicaLog) -> Iterator[Span]:
    """Yield when the replica ran in each attempt, ignoring its own ends.

    It begins at its first line if that is earlier. A replica runs as soon as its own machine is available. In an
    attempt that never was RUNNING, only its lines show that.
    """
    by_attempt: dict[int, list[Span]] = {}
    for span in work:
        by_attempt.setdefault(span.attempt, []).append(span)
    numbers = sorted({*by_attempt, *(attempt.number for attempt in tries.whole)})
    for number in numbers:
        spans, first = by_attempt.get(number, []), replica_log.first.get((name, number))
        until = (tries.span(str(number)) or (None, None))[1]
        if spans:
            start = min(first, spans[0].start) if first is not None else spans[0].start
            end = spans[-1].end
            if replica_log.torn_down_at is not None and number == numbers[-1] and replica_log.torn_down_at > start:
                end = min(end, replica_log.torn_down_at) if end is not None else replica_log.torn_down_at
            yield replace(spans[0], start=start, end=end)
        elif first is not None and until is not None:
            yield Span("running", first, max(until, first), attempt=number)


def _cut(
    whole: Span, ends: Sequence[ReplicaEnd], again: Mapping[datetime, JobEvent], tries: Attempts
) -> Iterator[Span]:
    """Yield the rest of an attempt's span: up to each end of the replica, and again from its next line.

    If a replica was stopped, the job continued and the replica wrote nothing more, it is not known what happened to it.
    """
    start: datetime | None = whole.start
    for end in ends:
        if start is None or end.at <= start or (whole.end is not None and end.at > whole.end):
            continue
        yield replace(whole, start=start, end=end.at)
        is_restarted = end.at in again and tries.of(end.at + LAST_MOMENT).number == whole.attempt
        goes_on = is_restarted and end.again_at is not None and end.again_at >= end.at
        start = end.again_at if goes_on else None
        if end.reason == TAKEN and not is_restarted and (whole.end is None or whole.end - end.at > LAST_WORDS):
            yield replace(whole, start=end.at, seen=False)
            return
    if start is not None and (whole.end is None or start < whole.end):
        yield replace(whole, start=start)


def _mark(end: ReplicaEnd, restart: JobEvent | None, events: Sequence[JobEvent]) -> Mark:
    """Return the mark for an end: its own restart, else a preemption of the whole job, else the end itself."""
    if restart is not None:
        return Mark(end.at, restart.reason, restart.message)
    if end.reason == TAKEN and _was_preempted(end.at, events):
        return Mark(end.at, PREEMPTED, f"Compute Engine preempted the Spot VM of {end.replica}.")
    return Mark(end.at, end.reason, end.message)


def _was_preempted(at: datetime, events: Sequence[JobEvent]) -> bool:
    """Return whether the next loss of the whole job at or after a time was a preemption."""
    learned = {row.detail["restart"]: row.reason for row in events if row.kind == JobEvent.Kind.EXPLAINED}
    losses = (
        row
        for row in events
        if row.kind in (JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST) and not row.detail.get("replica")
    )
    following = min((row for row in losses if row.occurred_at >= at), key=lambda row: row.occurred_at, default=None)
    return following is not None and learned.get(following.once_key, following.reason) == PREEMPTED
