"""Jobs of a team that ask for exactly the same: another one may be a second request by mistake."""

from datetime import datetime, timedelta

from jobs.assessment import IdenticalJob
from jobs.models import Job, Team
from jobs.spec import Submission

RECENT = timedelta(days=1)
"""How long after its end a job is still named."""
MAX_JOBS = 20
"""The newest identical jobs that are looked at."""


def identical_jobs(submission: Submission, team: Team, *, now: datetime) -> tuple[IdenticalJob, ...]:
    """Return the jobs of `team` with the same spec that have not ended, or ended within RECENT; one query.

    Jobs that were requested before digests were kept, and adopted ones, are not found.
    """
    same = Job.objects.filter(team=team, spec_digest=submission.digest)
    newest = same.order_by("-requested_at", "pk").only("display_name", "state", "ended_at")[:MAX_JOBS]
    return tuple(
        IdenticalJob(job.display_name, job.state)
        for job in newest
        if not job.is_finished or (job.ended_at is not None and job.ended_at >= now - RECENT)
    )
