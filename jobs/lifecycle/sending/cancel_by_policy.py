"""A cancellation that a team's policy asks for, not a person."""

from datetime import datetime

from jobs.lifecycle import door
from jobs.models import Job, JobEvent


def cancel_by_policy(job: Job, *, now: datetime, sentence: str) -> bool:
    """Ask for the end of a job that is at Vertex AI; False when it has ended or somebody asked before."""
    if job.is_finished or not job.remote_name or job.cancel_requested_at is not None:
        return False
    return door.note(
        job,
        JobEvent.Kind.CANCEL_REQUESTED,
        now=now,
        reason="policy",
        sentence=sentence,
        once_key="cancel:requested",
        cancel_requested_at=now,
        due_at=now,
    )
