"""Studies of tuning jobs."""

from jobs import timeline
from jobs.models import Job, hide_in


def get_study(job: Job) -> timeline.Study | None:
    """Return the job's study with the trials that were seen, at most its maxTrialCount; one query.

    None, and no query, for a job that is no tuning job.
    """
    if timeline.study_spec(job) is None:
        return None
    trials = list(job.trials.all())
    hide_in(trials, ["infeasible_reason", "job_error"], job)
    return timeline.study(job, trials)
