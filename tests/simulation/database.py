"""A database of job rows that stalls, loses commits, responds late, and can be replaced by its own older backup."""

import copy
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import OperationalError

from jobs import states
from jobs.models import Job
from jobs.queue.claims import JOB_LEASE
from jobs.queue.installation import Trust, Watch
from jobs.states import FINISHED, NOT_SENT, JobState
from jobs.submission.ports import Change, Decide, Written
from jobs.vertex import RemoteJob
from tests.simulation.kernel import EPOCH, Kernel


class Row:
    """What the steps read and write of a job; the properties are those of the model."""

    kind, project, region, is_adopted, deletion_requested_at, deleted_at = "custom_job", "p", "r", False, None, None
    request_key = "the-form"
    is_finished = Job.is_finished
    may_exist_already = Job.may_exist_already
    may_have_duplicates = Job.may_have_duplicates

    def __init__(self, pk: str, now: datetime) -> None:
        self.pk, self.state, self.requested_at, self.due_at = pk, str(JobState.APPROVED), now, now
        self.remote_name = self.last_error = ""
        self.spec: dict[str, Any] = {}
        self.claim: uuid.UUID | None = None
        self.submit_attempts = self.failures = self.cancels_sent = 0
        self.claimed_until = self.attempted_at = self.cancel_requested_at = None
        self.cancel_sent_at = self.duplicates_checked_at = None


@dataclass
class Unmatched:
    """A job at Vertex AI that no row follows."""

    remote_name: str
    job: Any
    kind: str = "custom_job"
    cancel_sent_at: datetime | None = None
    last_error: str = ""


@dataclass
class Database:
    """All rows, and how they fail: in `stalls` (from, to, in seconds) no statement is answered before the end."""

    kernel: Kernel
    rows: dict[str, Row] = field(default_factory=dict)
    events: list[tuple[int, str, str, float]] = field(default_factory=list)
    """(number, job, what it was, when): the state entered, or the key of the event."""
    unmatched: dict[str, Unmatched] = field(default_factory=dict)
    trusted_since: datetime | None = None
    identity: int = 0
    """What the rows say of the server; a backup says what was true then."""
    stalls: list[tuple[float, float]] = field(default_factory=list)
    locks: dict[str, float] = field(default_factory=dict)
    faults: float = 0.0
    """Share of statements and commits that fail or are answered although the connection broke."""
    stall_share: float = 0.0
    """Share of statements that wait for a lock that somebody else holds for long."""
    numbers: int = 0
    epoch: int = 0
    drops_connections: bool = True

    def wait(self, seconds: float = 0.004) -> None:
        """Take the time of one statement; raises OperationalError when the connection breaks."""
        kernel = self.kernel
        if self.stall_share and kernel.random.random() < self.stall_share:
            seconds = kernel.random.choice([5.0, 9.0, 20.0, 31.0, 62.0, 90.0])
            kernel.log("One statement takes {:.0f} s.", seconds)
        kernel.work(seconds * (0.5 + kernel.random.random()) if seconds < 1 else seconds)
        for begins, ends in self.stalls:
            if begins <= kernel.seconds < ends:
                kernel.sleep(ends - kernel.seconds)
        if self.faults and kernel.random.random() < self.faults:
            raise OperationalError("the connection broke")

    def lock(self, pk: str) -> None:
        """Wait for the lock of a row. The last one that got it holds it until `unlock`."""
        epoch = self.epoch
        while pk in self.locks:
            self.kernel.work(0.05)
        if epoch != self.epoch:
            raise OperationalError("the connection broke")
        self.locks[pk] = self.kernel.seconds

    def unlock(self, pk: str) -> None:
        """Give the lock back."""
        self.locks.pop(pk, None)

    def add_event(self, pk: str, what: str) -> None:
        """Append an event."""
        self.numbers += 1
        self.events.append((self.numbers, pk, what, self.kernel.seconds))

    def copy(self) -> tuple[Any, ...]:
        """Return a backup."""
        return copy.deepcopy((self.rows, self.unmatched, self.trusted_since, self.identity)), len(self.events)

    def restore(self, backup: tuple[Any, ...]) -> None:
        """Replace all rows by those of a backup. Open transactions are lost."""
        self.rows, self.unmatched, self.trusted_since, self.identity = copy.deepcopy(backup[0])
        del self.events[backup[1] :]
        self.numbers = backup[1]
        self.locks.clear()
        self.epoch += 1

    def observe(self, row: Row, state: str) -> None:
        """Record the state that a poll tells of the job that a row follows; what `record` does, in one statement."""
        if states.may_follow(row.state, state):
            row.state = state
            self.add_event(row.pk, state)
            if state in FINISHED and not row.may_have_duplicates:
                row.due_at = None


class SimulatedStore:
    """`ports.Store` of one worker over the shared database."""

    def __init__(self, database: Database, watch: Watch, clock: Any) -> None:
        self.database, self.watch, self.clock, self.epoch = database, watch, clock, database.epoch

    def wait(self, seconds: float = 0.004) -> None:
        """Take the time of one statement; a restore that drops connections breaks this one as well."""
        self.database.wait(seconds)
        if self.epoch != self.database.epoch:
            self.epoch = self.database.epoch
            if self.database.drops_connections:
                raise OperationalError("the database was replaced")

    def claim(self, job_id: str) -> Row | None:
        now = self.clock.now()
        self.wait()
        row = self.database.rows.get(job_id)
        if row is None or row.due_at is None or row.due_at > now or (row.claimed_until and row.claimed_until > now):
            return None
        self.database.lock(job_id)  # an UPDATE waits for the row and looks at it again
        try:
            row = self.database.rows.get(job_id)
            is_free = row is not None and (row.claimed_until is None or row.claimed_until <= now)
            if row is None or not is_free or row.due_at is None or row.due_at > now:
                return None
            row.claim = uuid.UUID(int=self.database.kernel.random.getrandbits(128))
            row.claimed_until = now + JOB_LEASE
        finally:
            self.database.unlock(job_id)
        claimed = copy.copy(row)
        self.wait()
        return claimed

    def get(self, job_id: str) -> Row | None:
        self.wait()
        row = self.database.rows.get(job_id)
        return copy.copy(row) if row else None

    def apply(self, job: Row, decide: Decide, *, needs_claim: bool = True) -> Written | None:
        database = self.database
        self.wait()
        database.lock(job.pk)
        epoch = database.epoch
        try:
            if job.pk not in database.rows:
                raise OperationalError("the row is gone")
            fresh = copy.copy(database.rows[job.pk])
            read_at, now = self.clock.monotonic(), self.clock.now()
            if needs_claim and not (fresh.claim == job.claim and fresh.claimed_until and fresh.claimed_until > now):
                return None
            change = decide(fresh, now)  # type: ignore[arg-type]
            self.wait(0.01)  # the commit; a break here loses it
            if database.epoch != epoch:
                raise OperationalError("the transaction was lost")
            if change is not None:
                self._write(fresh, change, is_holder=fresh.claim is not None and fresh.claim == job.claim)
        finally:
            if database.epoch == epoch:
                database.unlock(job.pk)
        self.wait(0.001)  # a break here hides a commit that was made
        return Written(copy.copy(fresh), read_at, is_changed=change is not None)  # type: ignore[arg-type]

    def reassess(self, job: Row) -> Change | None:
        return None

    def trusted_since(self) -> datetime:
        self.wait()
        database, now = self.database, self.clock.now()
        newest = database.events[-1] if database.events else None
        identity = database.epoch if database.drops_connections else 0
        misses_event = self.watch.misses_event(now, newest, database.events.__contains__)
        if misses_event or database.identity != identity:
            database.kernel.log("A worker notices that the database may be another one.")
            database.trusted_since, database.identity = now, identity
            for row in database.rows.values():
                if row.state in NOT_SENT:
                    row.attempted_at = now
        began_at = self.watch.began_at or now
        return max(began_at, database.trusted_since or began_at)

    def trust(self) -> Trust:
        since = self.trusted_since()
        is_complete = self.database.trusted_since is None and since <= EPOCH
        return Trust(since, is_complete, self.database.trusted_since)

    def record_unmatched(self, job: Row, remote: RemoteJob, *, has_ended: bool) -> Unmatched:
        self.wait()
        return self.database.unmatched.setdefault(remote.name, Unmatched(remote.name, job.pk))

    def save_unmatched(self, row: Unmatched) -> None:
        self.wait()

    def _write(self, row: Row, change: Change, *, is_holder: bool) -> None:
        database = self.database
        for event in change.events:
            if event.to_state:
                if not states.may_follow(row.state, event.to_state):
                    continue
                row.state = str(event.to_state)
                if row.is_finished and not row.may_have_duplicates:
                    row.due_at = None
            database.add_event(row.pk, event.to_state or event.key)
            database.kernel.log("{}: {}", row.pk, event.message)
        columns: Mapping[str, Any] = change.columns
        if change.remote is not None:
            row.remote_name = change.remote.name
            database.observe(row, states.from_vertex(change.remote.state))
        for name, value in columns.items():
            setattr(row, name, value)
        if change.releases and is_holder:
            row.claim = row.claimed_until = None
        if row.is_finished and not row.may_have_duplicates:
            row.due_at = None
        database.rows[row.pk] = row
