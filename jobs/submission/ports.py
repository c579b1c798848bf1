"""The ports of a step: the database (`Store`), Vertex AI (`Remote`) and a clock. `adapters` implements them.

The steps (`submit`, `cancel`, `duplicates`) use only these three and import neither Django's connection nor HTTP. So
`tests/simulation` can run the same code against a database and a Vertex AI that fail in every way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.contrib.auth.models import User

from jobs.clock import Clock
from jobs.models import Job, UnmatchedJob
from jobs.queue.installation import Trust
from jobs.requests.questions import Question
from jobs.submission.doubts import Doubts
from jobs.vertex import RemoteJob


@dataclass(frozen=True, slots=True)
class Event:
    """A row to add to the timeline. With `to_state` it also changes the job's state; `key` makes it happen once."""

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

    The order is `events`, then `remote` (an answer of Vertex AI to record, which also sets the job's state), then
    `columns`. `question` is what approvers are asked before the job is sent. `releases` gives the claim back if the
    caller still holds it. `wakes` makes sure that the job's scope and log are polled soon.
    """

    events: tuple[Event, ...] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    remote: RemoteJob | None = None
    question: Question | None = None
    releases: bool = False
    wakes: bool = False


Decide = Callable[[Job, datetime], Change | None]
"""Given the locked row and the database's time, return the change to write, or None for no change."""


@dataclass(frozen=True, slots=True)
class Written:
    """A committed transaction: the row after it, and whether anything was written."""

    job: Job
    read_at: float
    """Seconds of `Clock.monotonic`, read just before the database's time."""
    is_changed: bool


class Store(Protocol):
    """The rows of the database. Every method is its own transaction."""

    def claim(self, job_id: UUID | str) -> Job | None:
        """Claim the job for one step. Return None if it is gone, not due or claimed by another worker."""

    def apply(self, job: Job, decide: Decide, *, needs_claim: bool = True) -> Written | None:
        """Lock the row, read it and the time again, and write what `decide` returns.

        Return None and write nothing if the claim of `job` has expired, another worker has claimed it, or the row is
        gone because a backup was restored. Use `needs_claim=False` to record an answer of Vertex AI, which is valid
        whoever holds the claim.
        """

    def reassess(self, job: Job) -> Change | None:
        """Assess an allowed job again before each try. Return None if it may be sent, else the change to write."""

    def trust(self) -> Trust:
        """Return since when the database is known not to have been replaced by an older copy.

        What was requested earlier may have been sent without this database knowing it.
        """

    def get(self, job_id: UUID | str) -> Job | None:
        """Return the current row, or None if there is none."""

    def record_unmatched(self, job: Job, remote: RemoteJob, *, has_ended: bool) -> UnmatchedJob:
        """Record a job at Vertex AI that carries the label of `job` but is not the one it follows."""

    def save_unmatched(self, row: UnmatchedJob) -> None:
        """Write the columns that a step changed."""


class Remote(Protocol):
    """Vertex AI. Methods raise `vertex.VertexError`, or `rate_limit.OverRateLimit` if our own rate limit is full."""

    def find(self, job: Job) -> list[RemoteJob]:
        """Return every job at Vertex AI that carries this job's label, in any state."""

    def reserve_create(self, job: Job) -> None:
        """Take one creation from the rate limit."""

    def create(self, job: Job, *, within: float) -> RemoteJob:
        """Create the job. Connecting, sending and reading together take at most `within` seconds.

        Nothing is sent after that time.
        """

    def cancel(self, job: Job | UnmatchedJob) -> None:
        """Ask Vertex AI to cancel the job that the row names."""

    def get(self, job: Job) -> RemoteJob:
        """Return the job that the row follows, as Vertex AI has it."""

    def delete(self, job: Job) -> bool:
        """Delete an ended job at Vertex AI. Return False if the deletion has started but not finished."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one step: the database, Vertex AI and the clock."""

    store: Store
    remote: Remote
    clock: Clock
    doubts: Doubts = field(default_factory=Doubts)
    """What the process remembers of its creates without an answer. All steps of a process share one."""
