"""A job's whole story for its page: lanes to draw, phases of the way to the start, and the events behind them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jobs.models import Job, JobEvent
from jobs.states import FINISHED, LOCAL, JobState
from jobs.timeline.attempts import Attempts, attempts
from jobs.timeline.entries import Entry, entries
from jobs.timeline.spans import BILLABLE, Span, billable, state_spans

PHASES: dict[str, str] = {
    JobState.AWAITING_APPROVAL: "approval",
    JobState.APPROVED: "our queue",
    JobState.SUBMITTING: "submitting",
    JobState.QUEUED: "QUEUED",
    JobState.PENDING: "PENDING",
}
"""What the waits before the first run are called; an unknown state is called as Vertex AI sent it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment on a lane, such as a preemption."""

    at: datetime
    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the drawing: Trainboard, Vertex AI or a replica."""

    name: str
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Phase:
    """One part of the way from request to start."""

    name: str
    length: timedelta
    is_open: bool


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that the job page tells about time."""

    events: tuple[JobEvent, ...]
    lanes: tuple[Lane, ...]
    phases: tuple[Phase, ...]
    attempts: int
    start: datetime
    end: datetime

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The events as rows of a table."""
        return entries(self.events)


def story(job: Job, events: Iterable[JobEvent], now: datetime, *, replicas: Sequence[str] = ()) -> Story:
    """Tell the job's whole story; `replicas` names the lanes below Vertex AI's, such as workerpool0-0."""
    rows = tuple(events)
    spans = state_spans(rows)
    end = job.ended_at or now
    closed = [span for span in spans if span.state not in FINISHED]
    marks = tuple(
        Mark(row.occurred_at, row.reason, row.sentence) for row in rows if row.kind == JobEvent.Kind.RESTARTED
    )
    unseen = tuple(
        Span("", datetime.fromisoformat(row.detail["from"]), row.occurred_at, seen=False)
        for row in rows
        if row.kind == JobEvent.Kind.UNSEEN
    )
    ours = tuple(span for span in closed if span.state in LOCAL)
    theirs = tuple(span for span in closed if span.state not in LOCAL)
    tries = attempts(rows, now)
    work = tuple(_numbered(span, tries) for span in billable(spans))
    lanes = [Lane("Trainboard", ours), Lane("Vertex AI", theirs + unseen)]
    lanes += [Lane(name, work, marks) for name in replicas]
    return Story(
        events=rows,
        lanes=tuple(lane for lane in lanes if lane.spans or lane.name == "Vertex AI"),
        phases=tuple(_phases(spans, now)),
        attempts=max((span.attempt for span in work), default=0),
        start=job.requested_at,
        end=max(end, job.requested_at),
    )


def _numbered(span: Span, tries: Attempts) -> Span:
    """Count a try that never ran, and one whose wait nobody saw, as the job's log does."""
    return replace(span, attempt=max(span.attempt, tries.of(span.start).number))


def _phases(spans: Sequence[Span], now: datetime) -> list[Phase]:
    """The waits before the first run, each state summed."""
    phases: dict[str, Phase] = {}
    for span in spans:
        if span.state in BILLABLE or span.state in FINISHED:
            break
        name = PHASES.get(span.state, span.state)
        before = phases[name].length if name in phases else timedelta()
        phases[name] = Phase(name, before + span.length(now), span.end is None)
    return list(phases.values())
