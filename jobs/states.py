"""The states a job passes through, which of them are ours, and how Vertex AI's words map onto them.

Two owners of truth. *Local* states are ours and move only along `LOCAL_MOVES`. *Remote* states mirror Vertex AI's
JobState: they are recorded, not argued with, because a poll may miss any number of them. Only two rules bind them:
a finished job stays finished, and a cancelling job does not go back to waiting or running.

Source: google-cloud-aiplatform 2.7.0, types/job_state.py and types/pipeline_state.py, read 2026-11-21.
"""

from enum import StrEnum


class JobState(StrEnum):
    """What `Job.state` holds. A remote state unknown to us is stored raw, so the column is wider than this list."""

    AWAITING_APPROVAL = "awaiting_approval"
    """Policy asks a person; nothing was sent to Vertex AI."""
    APPROVED = "approved"
    """Allowed, waiting for a worker to submit it."""
    SUBMITTING = "submitting"
    """A worker has begun to create it; whether Vertex AI has it is not yet certain."""
    REJECTED = "rejected"
    """An approver rejected it."""
    WITHDRAWN = "withdrawn"
    """Cancelled before it was submitted."""
    SUBMIT_FAILED = "submit_failed"
    """Vertex AI refused the request; no remote job exists."""
    LOST = "lost"
    """Vertex AI stopped knowing it; how it ended was not seen. It goes on if Vertex AI knows it again."""
    QUEUED = "queued"
    """Accepted by Vertex AI, not processed yet; it waits here when training quota is short."""
    PENDING = "pending"
    """Vertex AI prepares machines; some replicas may already run."""
    RUNNING = "running"
    """All replicas are available."""
    CANCELLING = "cancelling"
    """Vertex AI is cancelling; the job may still end as succeeded or failed."""
    PAUSED = "paused"
    """Stopped and resumable; custom jobs have no call for it."""
    UPDATING = "updating"
    """Only from running, and back to it."""
    SUCCEEDED = "succeeded"
    """The primary replica exited with 0."""
    PARTIALLY_SUCCEEDED = "partially_succeeded"
    """Ended with some results missing."""
    FAILED = "failed"
    """Ended with an error."""
    CANCELLED = "cancelled"
    """Ended because somebody cancelled it."""
    EXPIRED = "expired"
    """Ended because it waited or lived too long."""


LOCAL = frozenset(
    {
        JobState.AWAITING_APPROVAL,
        JobState.APPROVED,
        JobState.SUBMITTING,
        JobState.REJECTED,
        JobState.WITHDRAWN,
        JobState.SUBMIT_FAILED,
        JobState.LOST,
    }
)
FINISHED = frozenset(
    {
        JobState.LOST,
        JobState.REJECTED,
        JobState.WITHDRAWN,
        JobState.SUBMIT_FAILED,
        JobState.SUCCEEDED,
        JobState.PARTIALLY_SUCCEEDED,
        JobState.FAILED,
        JobState.CANCELLED,
        JobState.EXPIRED,
    }
)
NOT_SENT = frozenset({JobState.AWAITING_APPROVAL, JobState.APPROVED, JobState.SUBMITTING})
"""Requests that Vertex AI has not answered, as far as their row knows."""
REMOTE = frozenset(JobState) - LOCAL
"""The states of Vertex AI that we have words for."""
WAITING = frozenset({JobState.APPROVED, JobState.SUBMITTING, JobState.QUEUED, JobState.PENDING})
"""Nothing for a person to do; no replica set is complete yet."""
WAITING_AT_VERTEX = frozenset({JobState.QUEUED, JobState.PENDING})
"""Vertex AI has it and not all its replicas run: before the first time, or again after a restart."""
RUNNING = frozenset({JobState.RUNNING, JobState.UPDATING, JobState.CANCELLING})
SUCCESSFUL = frozenset({JobState.SUCCEEDED, JobState.PARTIALLY_SUCCEEDED})
FAILURES = frozenset({JobState.FAILED, JobState.EXPIRED, JobState.SUBMIT_FAILED, JobState.LOST})
"""Ended without a result, and nobody wanted that."""

LOCAL_MOVES: dict[str, frozenset[str]] = {
    "": frozenset({JobState.AWAITING_APPROVAL, JobState.APPROVED}),
    JobState.AWAITING_APPROVAL: frozenset({JobState.APPROVED, JobState.REJECTED, JobState.WITHDRAWN}),
    JobState.APPROVED: frozenset(
        {JobState.SUBMITTING, JobState.WITHDRAWN, JobState.SUBMIT_FAILED, JobState.AWAITING_APPROVAL}
    ),
    JobState.SUBMITTING: frozenset({JobState.SUBMIT_FAILED, JobState.WITHDRAWN}),
}
"""From each local state, the local states that may follow; our jobs enter remote states from `submitting` only."""


def from_vertex(value: str | int | None) -> str:
    """Return our name for a JobState or PipelineState as Vertex AI writes it, or the raw text when it is unknown.

    `JOB_STATE_RUNNING` and `PIPELINE_STATE_RUNNING` both become `running`. An absent value is proto3's default,
    JOB_STATE_UNSPECIFIED, which is kept raw.
    """
    raw = str(value) if value is not None else "JOB_STATE_UNSPECIFIED"
    name = raw.removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_").lower()
    return name if name in REMOTE else raw


def may_follow(before: str, after: str, *, is_adopted: bool = False) -> bool:
    """Return whether a job in state `before` may enter state `after`.

    A job that was made outside Trainboard and adopted was never in a state of ours: it begins (before = "") in whatever
    state Vertex AI reports.

    Local moves follow `LOCAL_MOVES`. Remote moves are free, except that a finished state never changes and a
    cancelling job only ends (google-cloud-aiplatform 2.7.0, types/job_state.py, JOB_STATE_CANCELLING). A lost job is
    one that Vertex AI did not know for a while, so it goes on when Vertex AI knows it again.
    """
    if before == after or before in FINISHED - {JobState.LOST}:
        return False
    if before == JobState.LOST:
        return after not in LOCAL
    if after == JobState.LOST:
        return before not in LOCAL and before != ""
    if after in LOCAL:
        return not is_adopted and after in LOCAL_MOVES.get(before, frozenset())
    if before == "":
        return is_adopted
    if before == JobState.CANCELLING:
        return after in FINISHED
    return before == JobState.SUBMITTING or before not in LOCAL
