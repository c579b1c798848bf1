"""The lane of a job's faults on its time axis: since when each was found, and until when."""

from collections.abc import Iterable
from datetime import datetime

from jobs.models import Job, JobEvent
from jobs.timeline.health_words import CANCELLED_FOR
from jobs.timeline.replicas import Lane, Mark
from jobs.timeline.spans import Span

ASKED, ANSWERED = "asked", "declared_fine"
Kind = JobEvent.Kind
ENDS = (Kind.CLEARED, Kind.DECLARED_FINE, Kind.RESTARTED, Kind.MACHINES_LOST)
"""Events that end a fault, besides the job's end and another fault."""


def warned_lane(job: Job, rows: Iterable[JobEvent]) -> Lane:
    """Return a span for each fault, named by its code, with marks for questions, answers and the cancellation."""
    spans, marks, code, since = list[Span](), list[Mark](), "", job.requested_at
    for row in rows:
        is_cancelled = row.kind == Kind.CANCEL_REQUESTED and row.reason == CANCELLED_FOR
        if row.kind == Kind.WARNED and row.detail.get("asked"):
            marks.append(Mark(row.occurred_at, ASKED, row.message))
        elif row.kind == Kind.DECLARED_FINE:
            marks.append(Mark(row.occurred_at, ANSWERED, row.message))
        elif is_cancelled:
            marks.append(Mark(row.occurred_at, "exit", row.message))
        if row.kind not in (Kind.WARNED, *ENDS) or (row.kind == Kind.WARNED and row.reason == code):
            continue
        if code:
            spans.append(Span(code, since, max(row.occurred_at, since)))
        code = row.reason if row.kind == Kind.WARNED else ""
        began = datetime.fromisoformat(row.detail["since"]) if row.detail.get("since") else row.occurred_at
        since = max(began, spans[-1].end or began) if spans else began
    if code:
        spans.append(Span(code, since, job.ended_at and max(job.ended_at, since)))
    return Lane("Warnings", tuple(spans), tuple(marks), of_faults=True)
