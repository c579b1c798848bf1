"""Cancel a job. Before submission this ends the job; afterwards it is a request that may come too late.

Vertex AI cancels on a best-effort basis, so a request stays open until the job has ended. It is sent again after every
failure, and also after Vertex AI accepted it, as long as the job runs.
"""

from datetime import datetime, timedelta

from django.contrib.auth.models import User

from jobs import vertex
from jobs.clock import backoff
from jobs.models import Job, JobEvent
from jobs.permissions import check_is_ours
from jobs.states import JobState
from jobs.submission.ports import Change, Decide, Event, Ports, Store
from jobs.submission.retries import next_step_at, pause_after

FIRST_REPEAT = timedelta(minutes=1)
MAX_REPEAT = timedelta(minutes=10)
"""Longest pause before a cancellation is sent again that Vertex AI accepted but did not carry out."""


def cancel(job: Job, *, by: User, store: Store) -> bool:
    """Request the end of a job. Return False if it has ended or a request is already on its way.

    A job that was not submitted is withdrawn at once. For a job that is, or may be, at Vertex AI the request is
    recorded and becomes due; the state changes when Vertex AI reports it. A request that was sent without effect may be
    repeated. Raise NotPermitted for an adopted job.
    """
    check_is_ours(job)
    written = store.apply(job, request_cancel(by), needs_claim=False)
    return written is not None and written.is_changed


def cancel_waiting(job: Job, *, message: str, reason: str, store: Store) -> bool:
    """Request the end of a job that has not run yet, without a person. Return False if it runs or has ended."""

    def decide(fresh: Job, now: datetime) -> Change | None:
        if fresh.started_at is not None or fresh.cancel_requested_at is not None:
            return None
        return _ended(fresh, now, message, reason)

    written = store.apply(job, decide, needs_claim=False)
    return written is not None and written.is_changed


def send_cancel(job: Job, ports: Ports) -> None:
    """Send the requested cancellation of a claimed job to Vertex AI."""
    try:
        ports.remote.cancel(job)
    except vertex.VertexError as error:
        ports.store.apply(job, not_taken(error))
    else:
        ports.store.apply(job, taken)


# ---------------------------------------------------------------- decisions: pure, from the locked row and the time
def request_cancel(by: User) -> Decide:
    """Record that a person asks for the job's end."""

    def decide(job: Job, now: datetime) -> Change | None:
        name = by.get_username()
        if _ends_here(job):
            return _ended(job, now, f"{name} withdrew the job before it was submitted.", "cancelled", by)
        again = "again " if job.cancel_requested_at is not None else ""
        return _ended(job, now, f"{name} asked {again}to cancel the job.", "", by)

    return decide


def is_unsent(job: Job) -> bool:
    """Return whether Vertex AI certainly has no such job. A restored database may not record that it was sent."""
    is_local = job.state == JobState.AWAITING_APPROVAL or job.state == JobState.APPROVED
    return is_local and job.attempted_at is None


def _ends_here(job: Job) -> bool:
    """Return whether a cancellation withdraws the job.

    A job that waits for approval has no next step, so it is withdrawn even if it is in doubt. It is then looked up.
    """
    return is_unsent(job) or job.state == JobState.AWAITING_APPROVAL


def _ended(job: Job, now: datetime, message: str, reason: str, by: User | None = None) -> Change | None:
    """Withdraw a job that was not sent, else record the request to cancel it. Return None if already done."""
    if _ends_here(job):
        event = Event(JobEvent.Kind.STATE, message, to_state=JobState.WITHDRAWN, reason=reason, actor=by)
        return Change((event,), {"due_at": None if job.attempted_at is None else now})
    is_on_its_way = job.cancel_requested_at is not None and job.cancel_sent_at is None
    if job.is_finished or is_on_its_way:
        return None
    again = job.cancel_requested_at is not None
    key = f"cancel:requested:{now.isoformat()}" if again else "cancel:requested"
    event = Event(JobEvent.Kind.CANCEL_REQUESTED, message, key=key, reason=reason, actor=by)
    columns = {"cancel_requested_at": job.cancel_requested_at or now, "cancel_sent_at": None, "due_at": now}
    return Change((event,), columns)


def taken(job: Job, now: datetime) -> Change:
    """Record that Vertex AI accepted the cancellation. It is sent again if the job has not ended after a pause."""
    count = job.cancels_sent + 1
    message = "Vertex AI accepted the cancellation. The job may still end on its own first."
    if count > 1:
        message = f"The job had not ended, so Trainboard sent the cancellation a {ordinal(count)} time."
    event = Event(JobEvent.Kind.CANCEL_SENT, message, key=f"cancel:sent:{count}")
    pause = backoff(FIRST_REPEAT, count - 1, MAX_REPEAT)
    columns = {
        "cancel_sent_at": now,
        "cancels_sent": count,
        "due_at": next_step_at(job, now) if job.is_finished else now + pause,
        "failures": 0,
        "last_error": "",
    }
    return Change((event,), columns, releases=True, wakes=True)


def not_taken(error: vertex.VertexError) -> Decide:
    """Record that Vertex AI did not accept the cancellation.

    The job may have ended, which the observer records. Until then the cancellation is sent again.
    """

    def decide(job: Job, now: datetime) -> Change:
        message = f"Vertex AI did not accept the cancellation: {error}"
        columns = {
            "due_at": next_step_at(job, now) if job.is_finished else now + pause_after(error, job.failures),
            "failures": job.failures + 1,
            "last_error": message,
        }
        key = f"cancel:not_taken:{now.isoformat()}"
        event = Event(JobEvent.Kind.STEP_FAILED, message, key=key, reason="cancel_not_taken")
        is_recorded = message == job.last_error or not isinstance(error, vertex.Refused | vertex.NotFound)
        return Change(() if is_recorded else (event,), columns, releases=True, wakes=True)

    return decide


def ordinal(count: int) -> str:
    """Format a small number as an ordinal: 2nd, 3rd, 4th."""
    ending = "th" if count % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}"
