"""Dependencies of a job's life: machines, a runner for its replicas, and an observer of its progress."""

from dataclasses import dataclass
from typing import Protocol

from emulator.protocol.documents import Document
from emulator.state.records import Job


@dataclass(frozen=True, slots=True)
class Allocation:
    """The answer to a request for machines.

    It is "yes", "wait" (stays QUEUED), "wait-pending" (waits in PENDING), "stockout", or "never" with an outcome. With
    `is_ready` the machines exist already and need no provisioning.
    """

    answer: str
    outcome: Document | None = None
    is_ready: bool = False


class Capacity(Protocol):
    """Allocates machines to jobs."""

    def allocate(self, job: Job) -> Allocation:
        """Allocate all machines of a job if they are free."""

    def release(self, job: Job) -> None:
        """Release a job's machines."""

    def max_wait_seconds(self, job: Job) -> float | None:
        """Return after how many seconds of waiting the job fails, None for never."""

    def reclaim_seconds(self, job: Job) -> float | None:
        """Return after how many seconds of running a Spot job's machines are reclaimed, None for never."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a replica ended. `code` is the exit status, 128+n for signals. `tail` is the end of its output."""

    code: int
    reason: str = "Error"
    tail: str = ""


class ReplicaRunner(Protocol):
    """Runs replicas, as processes or by a script. It calls `Engine.exited` when a replica has ended."""

    def start_error(self, job: Job) -> Document | None:
        """Return the outcome if the job can never start (an image that cannot be pulled), else None."""

    def start(self, job: Job, replica: str) -> None:
        """Start a replica."""

    def stop(self, job: Job, replica: str) -> None:
        """Send SIGTERM."""

    def kill(self, job: Job, replica: str) -> None:
        """Send SIGKILL."""


class Observer(Protocol):
    """Receives events of jobs, for the tuning jobs or pipelines that created them."""

    def job_started(self, job: Job) -> None:
        """Handle a job that has entered RUNNING."""

    def job_ended(self, job: Job) -> None:
        """Handle a job whose public state has become final."""

    def check_trial(self, job: Job) -> bool:
        """Read the metrics of a running trial. Return whether to check it again."""
