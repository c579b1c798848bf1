"""What a cancellation does to a job in its state, and why a job cannot be cancelled now."""

from django.utils.translation import gettext as _

from dashboard.access import Request, can
from jobs.models import Job
from jobs.states import WAITING_AT_VERTEX, JobState
from jobs.submission import is_unsent


def refusal_to_cancel(job: Job) -> str:
    """Return why the job cannot be cancelled now, or "" if it can.

    It can be cancelled again if Vertex AI accepted a request that had no effect.
    """
    if job.is_adopted:
        return _("it is an external job, read only")
    if job.is_finished:
        return _("it has ended")
    is_on_its_way = job.cancel_requested_at is not None and job.cancel_sent_at is None
    return _("its cancellation is on its way") if is_on_its_way else ""


def may_cancel(request: Request, job: Job) -> bool:
    """Return whether the page offers to cancel the job."""
    return not refusal_to_cancel(job) and can(request.user, "cancel", job.team)


def effect_of_cancelling(job: Job) -> str:
    """Return what a cancellation does to the job in its state."""
    if is_unsent(job):
        return _("The job has not been submitted to Vertex AI; it will not be submitted.")
    if not job.remote_name:
        return _("Trainboard is sending the job. If Vertex AI already has it, it is cancelled there.")
    if job.cancel_sent_at is not None or job.state == JobState.CANCELLING:
        return _("Vertex AI has accepted a cancellation, but the job has not ended. The cancellation is sent again.")
    if job.started_at is None:
        return _(
            "The job waits at Vertex AI and has not run: no work is lost and nothing is billed. It loses its place in"
            " the queue."
        )
    if job.state in WAITING_AT_VERTEX or job.custom_job_state in WAITING_AT_VERTEX:
        return _("The job waits for new machines after a restart. Its checkpoints stay, but it cannot be resumed.")
    if job.trial_seconds is not None and not job.trials_running:
        return _("No trial is running. No further trial starts, and the job cannot be resumed.")
    return _(
        "Vertex AI sends SIGTERM to every replica. Work since the last checkpoint is lost, and the job cannot be"
        " resumed."
    )
