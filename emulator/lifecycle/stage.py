"""What a life needs from below: someone who plays the replicas, and someone who hands out machines."""

from dataclasses import dataclass
from typing import Protocol

from emulator.protocol.documents import Document
from emulator.state.records import Job


@dataclass(frozen=True, slots=True)
class Exit:
    """How a replica ended. code: exit status, 128+n for signals; tail: the end of its output."""

    code: int
    reason: str = "Error"
    tail: str = ""


class Stage(Protocol):
    """Plays replicas: real processes or a story. Ends are reported to `Engine.exited`."""

    def refusal(self, job: Job) -> Document | None:
        """Return the outcome if the job can never start (an image that cannot be pulled), else None."""

    def start(self, job: Job, replica: str) -> None:
        """Start a replica."""

    def stop(self, job: Job, replica: str) -> None:
        """Send SIGTERM."""

    def kill(self, job: Job, replica: str) -> None:
        """Send SIGKILL."""

    def cue(self, job: Job, key: str) -> None:
        """A timer of the stage's own (`story:...`) is due."""

    def queue_seconds(self, job: Job, usual: float) -> float:
        """Return how long a new job stands in the queue at speed 1."""

    def error_seconds(self, job: Job) -> float:
        """Return how long after the end of the job its error becomes public; 0 = together with it, as is usual."""

    def survives(self, job: Job) -> bool:
        """Tell whether its replicas outlive the emulator (stories do, processes must not)."""

    def finishes_first(self, job: Job) -> bool:
        """Tell whether the job ends by itself while it is being cancelled."""


@dataclass(frozen=True, slots=True)
class Grant:
    """An answer to a request for machines.

    "yes", "wait" (stays QUEUED), "wait-pending" (waits in PENDING), "stockout", or "never" with an outcome.
    is_ready: the machines are there already and need no provisioning.
    """

    answer: str
    outcome: Document | None = None
    is_ready: bool = False


class Capacity(Protocol):
    """Hands out machines."""

    def take(self, job: Job, now: float) -> Grant:
        """Ask for all machines of a job."""

    def give_back(self, job: Job) -> None:
        """Return a job's machines."""

    def waiting_limit(self, job: Job) -> float | None:
        """Return after how many seconds of waiting the job gives up; None = never."""

    def reclaim_seconds(self, job: Job) -> float | None:
        """Return after how many seconds of running a Spot job's machines are reclaimed; None = not at all."""
