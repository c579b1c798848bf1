"""A job that was made outside Trainboard is only watched: no verb here changes it."""

from jobs.lifecycle.errors import NotPermitted
from jobs.models import Job


def check_is_ours(job: Job) -> None:
    """Raise NotPermitted for an adopted job."""
    if job.is_adopted:
        raise NotPermitted(
            "This job was made outside Trainboard and is only watched here; whoever made it changes it at Vertex AI."
        )
