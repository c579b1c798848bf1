"""The states of a job, which of them are local, and how Vertex AI's states map to them.

*Local* states belong to Trainboard and change only along `LOCAL_MOVES`. *Remote* states mirror Vertex AI's JobState.
They are recorded as reported, because a poll may miss any number of them, with two exceptions: a finished job stays
finished, and a cancelling job does not go back to waiting or running.

Source: google-cloud-aiplatform 2.7.0, types/job_state.py and types/pipeline_state.py, read 2026-11-21.
"""

from enum import StrEnum


class JobState(StrEnum):
    """The values of `Job.state`. An unknown remote state is stored as it is, so the column is wider than this list."""

    AWAITING_APPROVAL = "awaiting_approval"
    """Policy requires an approval; nothing was sent to Vertex AI."""
    APPROVED = "approved"
    """Allowed; a worker will submit it."""
    SUBMITTING = "submitting"
    """A worker has begun to create it; it is not yet certain whether Vertex AI has it."""
    REJECTED = "rejected"
    """An approver rejected it."""
    WITHDRAWN = "withdrawn"
    """Cancelled before it was submitted."""
    SUBMIT_FAILED = "submit_failed"
    """Vertex AI refused the request; no remote job exists."""
    LOST = "lost"
    """Vertex AI no longer knows it, so its end was not seen. It continues if Vertex AI knows it again."""
    QUEUED = "queued"
    """Accepted by Vertex AI but not processed yet; a job waits here when training quota is short."""
    PENDING = "pending"
    """Vertex AI is preparing machines; some replicas may already run."""
    RUNNING = "running"
    """All replicas are available."""
    CANCELLING = "cancelling"
    """Vertex AI is cancelling; the job may still end as succeeded or failed."""
    PAUSED = "paused"
    """Stopped and resumable; custom jobs have no call for it."""
    UPDATING = "updating"
    """Entered from running only, and left to running."""
    SUCCEEDED = "succeeded"
    """The primary replica exited with code 0."""
    PARTIALLY_SUCCEEDED = "partially_succeeded"
    """Ended with some results missing."""
    FAILED = "failed"
    """Ended with an error."""
    CANCELLED = "cancelled"
    """Ended because somebody cancelled it."""
    EXPIRED = "expired"
    """Ended because it waited or ran too long."""


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
"""Requests without an answer from Vertex AI, as far as the row shows."""
REMOTE = frozenset(JobState) - LOCAL
"""The states of Vertex AI that have a name here."""
WAITING = frozenset({JobState.APPROVED, JobState.SUBMITTING, JobState.QUEUED, JobState.PENDING})
"""No person has to act; not all replicas run yet."""
WAITING_AT_VERTEX = frozenset({JobState.QUEUED, JobState.PENDING})
"""Vertex AI has it, but not all its replicas run: before the first run or after a restart."""
RUNNING = frozenset({JobState.RUNNING, JobState.UPDATING, JobState.CANCELLING})
SUCCESSFUL = frozenset({JobState.SUCCEEDED, JobState.PARTIALLY_SUCCEEDED})
FAILURES = frozenset({JobState.FAILED, JobState.EXPIRED, JobState.SUBMIT_FAILED, JobState.LOST})
"""Ended without a result, against the wish of its owner."""

LOCAL_MOVES: dict[str, frozenset[str]] = {
    "": frozenset({JobState.AWAITING_APPROVAL, JobState.APPROVED}),
    JobState.AWAITING_APPROVAL: frozenset({JobState.APPROVED, JobState.REJECTED, JobState.WITHDRAWN}),
    JobState.APPROVED: frozenset(
        {JobState.SUBMITTING, JobState.WITHDRAWN, JobState.SUBMIT_FAILED, JobState.AWAITING_APPROVAL}
    ),
    # Back to the approvers only where it is certain that no try has created anything.
    JobState.SUBMITTING: frozenset({JobState.SUBMIT_FAILED, JobState.WITHDRAWN, JobState.AWAITING_APPROVAL}),
}
"""The local states that may follow each local state. Our jobs enter remote states from `submitting` only."""


def from_vertex(value: str | int | None) -> str:
    """Return our name for a JobState or PipelineState of Vertex AI, or its raw text if it is unknown.

    `JOB_STATE_RUNNING` and `PIPELINE_STATE_RUNNING` both become `running`. A missing value is proto3's default,
    JOB_STATE_UNSPECIFIED, which is kept raw.
    """
    raw = str(value) if value is not None else "JOB_STATE_UNSPECIFIED"
    name = raw.removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_").lower()
    return name if name in REMOTE else raw


def may_follow(before: str, after: str, *, is_adopted: bool = False) -> bool:
    """Return whether a job in state `before` may enter state `after`.

    An adopted job never had a local state: it begins (before = "") in the state that Vertex AI reports.

    Local moves follow `LOCAL_MOVES`. Remote moves are free, except that a finished state never changes and a cancelling
    job only ends (google-cloud-aiplatform 2.7.0, types/job_state.py, JOB_STATE_CANCELLING). A lost job is one that
    Vertex AI did not know for a while, so it continues when Vertex AI knows it again.
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
