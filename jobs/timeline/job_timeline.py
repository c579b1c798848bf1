"""The timeline of a job for its page: the lanes, the phases before the start, and the events."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from jobs.models import Job, JobEvent
from jobs.states import FINISHED, LOCAL, JobState
from jobs.timeline.attempts import Attempts, attempts
from jobs.timeline.replicas import Lane, Mark, ReplicaLog, replica_lane
from jobs.timeline.spans import BILLABLE, Span, billable, state_spans
from jobs.timeline.warned import warned_lane

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PHASES: "dict[str, StrOrPromise]" = {
    JobState.AWAITING_APPROVAL: gettext_lazy("approval"),
    JobState.APPROVED: gettext_lazy("our queue"),
    JobState.SUBMITTING: gettext_lazy("submitting"),
    JobState.QUEUED: "QUEUED",
    JobState.PENDING: "PENDING",
}
"""Names of the waits before the first run. An unknown state keeps the name that Vertex AI sent."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase between request and start."""

    name: str
    length: timedelta
    is_open: bool


@dataclass(frozen=True, slots=True)
class JobTimeline:
    """Everything that the job page shows about time."""

    events: tuple[JobEvent, ...]
    lanes: tuple[Lane, ...]
    phases: tuple[Phase, ...]
    attempts: int
    start: datetime
    end: datetime


def build_timeline(
    job: Job,
    events: Iterable[JobEvent],
    now: datetime,
    *,
    replicas: Sequence[str] = (),
    trials: Sequence[Lane] = (),
    tries: Attempts | None = None,
    replica_log: ReplicaLog | None = None,
) -> JobTimeline:
    """Return the job's timeline.

    `replicas` names the lanes below that of Vertex AI, such as workerpool0-0. `tries` are the job's attempts if they
    are already known, and `replica_log` is what its log shows about its replicas. `trials` are the lanes of a tuning
    job, which has no replicas of its own.
    """
    rows = tuple(events)
    spans = state_spans(rows)
    end = job.ended_at or now
    closed = [span for span in spans if span.state not in FINISHED]
    unseen = tuple(
        Span("", datetime.fromisoformat(row.detail["from"]), row.occurred_at, seen=False)
        for row in rows
        if row.kind == JobEvent.Kind.UNSEEN
    )
    ours = tuple(span for span in closed if span.state in LOCAL)
    theirs = tuple(span for span in closed if span.state not in LOCAL)
    tries = tries or attempts(rows, now)
    # Attempts that never ran, and attempts whose wait was not observed, are numbered as in the job's log.
    work = tuple(replace(span, attempt=max(span.attempt, tries.of(span.start).number)) for span in billable(spans))
    lanes = [Lane("Trainboard", ours), Lane("Vertex AI", theirs + unseen, restart_marks(rows))]
    lanes += [warned_lane(job, rows)]
    lanes += [*(replica_lane(name, work, tries, rows, replica_log or ReplicaLog()) for name in replicas), *trials]
    return JobTimeline(
        events=rows,
        lanes=tuple(lane for lane in lanes if lane.spans or lane.name == "Vertex AI"),
        phases=tuple(_phases(spans, now)),
        attempts=max((span.attempt for span in work), default=0),
        start=job.requested_at,
        end=max(end, job.requested_at),
    )


def restart_marks(rows: Sequence[JobEvent]) -> tuple[Mark, ...]:
    """Return the restarts of the whole job and the loss that ended it. Those of replicas are on the replicas' lanes."""
    learned = {row.detail["restart"]: row.reason for row in rows if row.kind == JobEvent.Kind.EXPLAINED}
    kinds = (JobEvent.Kind.RESTARTED, JobEvent.Kind.MACHINES_LOST)
    whole = [row for row in rows if row.kind in kinds and not row.detail.get("replica")]
    return tuple(Mark(row.occurred_at, learned.get(row.once_key, row.reason), row.message) for row in whole)


def _phases(spans: Sequence[Span], now: datetime) -> list[Phase]:
    """Return the waits before the first run, summed for each state."""
    phases: dict[str, Phase] = {}
    for span in spans:
        if (span.state in BILLABLE and span.has_machines) or span.state in FINISHED:
            break
        name = str(PHASES.get(span.state, span.state))
        before = phases[name].length if name in phases else timedelta()
        phases[name] = Phase(name, before + span.length(now), span.end is None)
    return list(phases.values())
