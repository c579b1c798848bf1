"""A second job at Vertex AI for one request: found, recorded as an event, and cancelled until it has ended.

Submission keeps duplicates from being made as long as answers and lists arrive within their windows. What arrives later
still is found here: the observer lists every active job that carries our label, and a job that was sent more than once
is looked up by its label once more some time after it was accepted, which also finds what has ended by then.
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
    """Look for every job that carries this job's label, and settle those that it does not follow.

    What the answer holds about the job itself is recorded, but not its end: the observer asks for more when a job ends.
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
    """Record and cancel what carries the job's label and is not the job that it follows.

    `job` is the row as it was written last. One that waits for its approval may have been sent before the database was
    replaced by an older copy: it is looked up before it is sent.
    """
    for remote in found:
        if remote.name == job.remote_name:
            continue
        if job.state == JobState.AWAITING_APPROVAL:
            ports.store.apply(job, require_look_up, needs_claim=False)
            continue
        # Recorded before it is cancelled: if the worker dies in between, each poll that lists the job comes here again.
        ports.store.apply(job, noticed(remote), needs_claim=False)
        is_over = has_ended(remote)
        row = ports.store.record_unmatched(job, remote, has_ended=is_over)
        if not is_over:
            cancel(row, ports)


def cancel(row: UnmatchedJob, ports: Ports) -> None:
    """Ask Vertex AI to cancel one; every poll that still shows it active asks again."""
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
    """Write an event for the duplicate, once."""

    def decide(job: Job, _now: datetime) -> Change:
        which = "a second job of this request" if job.remote_name else "a job of this request, which had ended here"
        message = f"Vertex AI has {which}: {number(remote)}. "
        message += "It has ended, and may have been billed." if has_ended(remote) else "Trainboard cancels it."
        detail = {"remote_name": remote.name, "remote_state": remote.state}
        event = Event(
            JobEvent.Kind.DUPLICATE, message, key=f"duplicate:{number(remote)}", reason="duplicate", detail=detail
        )
        return Change((event,))

    return decide


def require_look_up(job: Job, now: datetime) -> Change | None:
    """Once the job is approved, its first step is a look-up."""
    if job.state != JobState.AWAITING_APPROVAL or job.attempted_at is not None:
        return None
    return Change(columns={"attempted_at": now})


def checked(own: vertex.RemoteJob | None) -> Decide:
    """Nothing more has to be looked for; record what Vertex AI returned for the job itself."""

    def decide(job: Job, now: datetime) -> Change:
        due_at = next_step_at(job, now, is_checked=True)
        columns = {"duplicates_checked_at": now, "due_at": due_at, "failures": 0, "last_error": ""}
        return Change(columns=columns, remote=None if job.is_finished else own, releases=True)

    return decide
