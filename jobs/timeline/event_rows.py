"""Events as rows of a table: one that happens several times in a row is one row, with its count."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from jobs.models import JobEvent


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: an event, and how often it happened in a row before anything else did."""

    event: JobEvent
    """The last of them."""
    count: int
    since: datetime
    """When the first of them happened."""


def entries(events: Iterable[JobEvent]) -> tuple[Entry, ...]:
    """Return the rows in the order of the events. Changes of state are never drawn together."""
    runs = (list(run) for _, run in groupby(events, key=_sameness))
    return tuple(Entry(event=run[-1], count=len(run), since=run[0].occurred_at) for run in runs)


def _sameness(event: JobEvent) -> tuple[object, ...]:
    return event.kind, event.message, event.actor_id, id(event) if event.to_state else None
