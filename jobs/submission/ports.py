"""What a step asks of the outside: the database (`Store`), Vertex AI (`Remote`) and a clock; see `adapters`.

The steps (`submit`, `cancel`, `duplicates`) are written against these three and import neither Django's connection nor
HTTP, so that `tests/simulation` runs the same code against a database and a Vertex AI that fail in every way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.contrib.auth.models import User

from jobs.clock import Clock
from jobs.models import Job, UnmatchedJob
from jobs.requests.questions import Question
from jobs.vertex import RemoteJob


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the timeline to write; with `to_state` it also changes the job's state. `key` makes it happen once."""

    kind: str
    message: str
    key: str = ""
    to_state: str = ""
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    actor: User | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What one transaction writes about one job.

    `events` in their order, then `remote` (an answer of Vertex AI to record, which also moves the job to its state),
    then `columns`. `question` is what approvers are asked before the job is sent. `releases` gives the claim back if it
    is still the caller's; `wakes` makes sure that the job's scope and log are polled soon.
    """

    events: tuple[Event, ...] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    remote: RemoteJob | None = None
    question: Question | None = None
    releases: bool = False
    wakes: bool = False


Decide = Callable[[Job, datetime], Change | None]
"""Given the row as it is now, locked, and the database's time: what to write, or None for nothing."""


@dataclass(frozen=True, slots=True)
class Written:
    """A transaction that was committed: the row after it, and whether anything was written."""

    job: Job
    read_at: float
    """Seconds of `Clock.monotonic`, taken just before the database's time was asked for."""
    is_changed: bool


class Store(Protocol):
    """The rows. Every method is one transaction of its own."""

    def claim(self, job_id: UUID | str) -> Job | None:
        """Take the job for one step; None when it is gone, not due or claimed by another worker."""

    def apply(self, job: Job, decide: Decide, *, needs_claim: bool = True) -> Written | None:
        """Lock the row, read it and the time anew, and write what `decide` returns.

        None, and nothing written, when the claim that `job` holds has expired or is another's. What Vertex AI answered
        is a fact whoever learns it, so it is written with `needs_claim=False`.
        """

    def reassess(self, job: Job) -> Change | None:
        """Assess an approved job once more before it is sent; None when it may be, else what to write instead."""

    def trusted_since(self) -> datetime:
        """Return since when the database is known not to have been replaced by an older copy.

        A request from before that may have been sent without this database knowing it.
        """

    def get(self, job_id: UUID | str) -> Job | None:
        """Return the row as it is now; None where there is none."""

    def record_unmatched(self, job: Job, remote: RemoteJob, *, has_ended: bool) -> UnmatchedJob:
        """Remember that a job at Vertex AI carries the label of `job` and is not the one that it follows."""

    def save_unmatched(self, row: UnmatchedJob) -> None:
        """Write the columns that a step changed."""


class Remote(Protocol):
    """Vertex AI. Every method raises `vertex.VertexError`; `rate_limit.OverRateLimit` when our own limit is full."""

    def find(self, job: Job) -> list[RemoteJob]:
        """List every job at Vertex AI that carries this job's label, in whatever state."""

    def reserve_create(self, job: Job) -> None:
        """Take one creation from the rate limit."""

    def create(self, job: Job, *, within: float) -> RemoteJob:
        """Create the job. All of it (connect, send, read) has to be done `within` so many seconds.

        Nothing is sent any more once they have passed.
        """

    def cancel(self, job: Job | UnmatchedJob) -> None:
        """Ask for the end of the job that the row names."""

    def get(self, job: Job) -> RemoteJob:
        """Return what Vertex AI has about the job that the row follows."""

    def delete(self, job: Job) -> bool:
        """Delete what Vertex AI keeps of a job that has ended; False when it has begun to and will finish later."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What one step works with: the database, Vertex AI and the clock."""

    store: Store
    remote: Remote
    clock: Clock
