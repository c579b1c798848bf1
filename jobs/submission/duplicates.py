"""Find, record and cancel duplicates: further jobs at Vertex AI for one request.

Submission prevents duplicates as long as answers and lists arrive within their windows. This module handles the ones
that arrive later. The observer lists every active job that carries our label. A job that was sent more than once is
also looked up by its label some time after it was accepted, which finds duplicates that have already ended.
"""

from collections.abc import Iterable
from datetime import datetime

from jobs import states, vertex
from jobs.models import Job, JobEvent, UnmatchedJob
from jobs.observation.record import number
from jobs.states import FINISHED, JobState
from jobs.submission.ports import Change, Decide, Event, Ports
from jobs.submission.retries import next_step_at, put_off


def check(job: Job, ports: Ports) -> None:
    """Look up every job that carries this job's label, and handle the duplicates.

    The answer about the job itself is recorded unless it has ended, because the observer requests more details when a
    job ends.
    """
    try:
        found = ports.remote.find(job)
    except vertex.VertexError as error:
        ports.store.apply(job, put_off(error))
        return
    cancel_duplicates(job, found, ports)
    own = next((remote for remote in found if remote.name == job.remote_name and not has_ended(remote)), None)
    ports.store.apply(job, checked(own))


def cancel_duplicates(job: Job, found: Iterable[vertex.RemoteJob], ports: Ports) -> None:
    """Record and cancel the jobs that carry the label of `job` and that it does not follow.

    `job` is the row as last written. A job that waits for approval may have been sent before the database was replaced
    by an older copy, so it is marked to be looked up before it is sent.
    """
    for remote in found:
        if remote.name == job.remote_name:
            continue
        if job.state == JobState.AWAITING_APPROVAL:
            ports.store.apply(job, require_look_up, needs_claim=False)
            continue
        # Recorded before it is cancelled: if the worker dies in between, the next poll that lists the job repeats both.
        ports.store.apply(job, noticed(remote), needs_claim=False)
        is_over = has_ended(remote)
        row = ports.store.record_unmatched(job, remote, has_ended=is_over)
        if not is_over:
            cancel(row, ports)


def cancel(row: UnmatchedJob, ports: Ports) -> None:
    """Ask Vertex AI to cancel a duplicate. Every poll that still lists it as active asks again."""
    try:
        ports.remote.cancel(row)
    except vertex.VertexError as error:
        row.last_error = str(error)
    else:
        row.last_error, row.cancel_sent_at = "", ports.clock.now()
    ports.store.save_unmatched(row)


def has_ended(remote: vertex.RemoteJob) -> bool:
    """Return whether Vertex AI reports that the job has ended."""
    return states.from_vertex(remote.state) in FINISHED


def noticed(remote: vertex.RemoteJob) -> Decide:
    """Record the duplicate as an event, once."""

    def decide(job: Job, _now: datetime) -> Change:
        which = "a second job for this request" if job.remote_name else "a job for this request, which had ended here"
        message = f"Vertex AI has {which}: {number(remote)}. "
        message += "It has ended and may have been billed." if has_ended(remote) else "Trainboard is cancelling it."
        detail = {"remote_name": remote.name, "remote_state": remote.state}
        event = Event(
            JobEvent.Kind.DUPLICATE, message, key=f"duplicate:{number(remote)}", reason="duplicate", detail=detail
        )
        return Change((event,))

    return decide


def require_look_up(job: Job, now: datetime) -> Change | None:
    """Make a look-up the first step of the job after its approval."""
    if job.state != JobState.AWAITING_APPROVAL or job.attempted_at is not None:
        return None
    return Change(columns={"attempted_at": now})


def checked(own: vertex.RemoteJob | None) -> Decide:
    """Record that the look-up is complete, with what Vertex AI returned for the job itself."""

    def decide(job: Job, now: datetime) -> Change:
        due_at = next_step_at(job, now, is_checked=True)
        columns = {"duplicates_checked_at": now, "due_at": due_at, "failures": 0, "last_error": ""}
        return Change(columns=columns, remote=None if job.is_finished else own, releases=True)

    return decide
