"""Events as rows of a table. Repeated events become one row with a count."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice

from jobs.models import JobEvent

SAME_CHANGE = timedelta(minutes=1)
"""A pipeline and its custom job that enter a state within this time report the same change. A restart takes longer."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: an event, and how often it occurred in a row."""

    event: JobEvent
    """The last of the repeated events."""
    count: int
    first: JobEvent
    """The first of the repeated events."""

    @property
    def since(self) -> datetime:
        """When the first of them occurred."""
        return self.first.occurred_at


def entries(events: Iterable[JobEvent]) -> tuple[Entry, ...]:
    """Return the rows in the order of the events. State changes are never combined.

    A state that a pipeline and its custom job enter together is one row, that of the pipeline.
    """
    rows = list(events)
    repeated = _repeated_by_custom_job(rows)
    runs = (list(run) for _, run in groupby((row for row in rows if id(row) not in repeated), key=_sameness))
    return tuple(Entry(event=run[-1], count=len(run), first=run[0]) for run in runs)


def _repeated_by_custom_job(events: Sequence[JobEvent]) -> set[int]:
    """Return the `id()` of each state of a custom job that its pipeline entered at the same time."""
    inner = [event for event in events if event.kind == JobEvent.Kind.CUSTOM_JOB_STATE]
    found: set[int] = set()
    for event in events if inner else ():
        if event.kind == JobEvent.Kind.STATE:
            same = (id(each) for each in inner if id(each) not in found and _is_same_change(event, each))
            found.update(islice(same, 1))
    return found


def _is_same_change(event: JobEvent, other: JobEvent) -> bool:
    return event.to_state == other.to_state and abs(event.occurred_at - other.occurred_at) <= SAME_CHANGE


def _sameness(event: JobEvent) -> tuple[object, ...]:
    return event.kind, event.message, event.actor_id, id(event) if event.to_state else None
