"""Events as rows of a table. Repeated events become one row with a count."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from jobs.models import JobEvent


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: an event, and how often it occurred in a row."""

    event: JobEvent
    """The last of the repeated events."""
    count: int
    since: datetime
    """When the first of them occurred."""


def entries(events: Iterable[JobEvent]) -> tuple[Entry, ...]:
    """Return the rows in the order of the events. State changes are never combined."""
    runs = (list(run) for _, run in groupby(events, key=_sameness))
    return tuple(Entry(event=run[-1], count=len(run), since=run[0].occurred_at) for run in runs)


def _sameness(event: JobEvent) -> tuple[object, ...]:
    return event.kind, event.message, event.actor_id, id(event) if event.to_state else None
