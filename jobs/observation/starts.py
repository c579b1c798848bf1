"""Decide when the machines of a custom job began to work. Whatever needs that time asks this module.

Three sources show it, in this order: `startTime` once it is settled (`RemoteJob.settled_start`), the first answer with
the state RUNNING, and the line "Job is running." in the service's log. `startTime` alone does not: Vertex AI sets a
provisional one while a job is still QUEUED. The log is read later than the state and decides only about runs that no
poll observed, so that a line which is ahead of the API does not look like a restart.
"""

from datetime import datetime, timedelta

from django.db import transaction

from jobs import states, timeline, transitions, vertex
from jobs.bounds import past_moment
from jobs.models import Job, JobEvent, LogLine
from jobs.states import FINISHED, WAITING_AT_VERTEX, JobState
from jobs.timeline.attempts import ATTEMPT_BEGINS, ATTEMPT_RUNS
from jobs.vertex.logs import SERVICE

SECOND = timedelta(seconds=1)
"""Precision of a settled start."""
WORDS = {
    JobState.RUNNING: "All replicas were running (recorded later, from the service's log).",
    JobState.PENDING: "Vertex AI prepared machines again (recorded later, from the service's log).",
}


def machines_started(remote: vertex.RemoteJob, now: datetime, *, waited_at: datetime | None = None) -> datetime | None:
    """Return when a custom job's machines began to work, as far as one answer shows it.

    `waited_at` is the `updateTime` of an earlier answer that showed the job waiting, which rules out earlier starts.
    None means that the answer does not show it. A job that waits has no machines, whatever its `startTime` is: that
    of an earlier run, or a provisional one.
    """
    state, start = states.from_vertex(remote.state), past_moment(remote.settled_start, now)
    if state in WAITING_AT_VERTEX:
        return None
    if start is not None and (waited_at is None or waited_at < start + SECOND):
        return start
    if state in timeline.BILLABLE:
        return past_moment(remote.update_time, now) or now
    return None


def earlier_start(started_at: datetime | None, remote: vertex.RemoteJob, now: datetime) -> datetime | None:
    """Return the settled start if the recorded one was only the time of the answer that showed RUNNING, else None."""
    start = past_moment(remote.settled_start, now)
    is_open = started_at is not None and started_at.microsecond != 0
    if start is None or started_at is None or not is_open or states.from_vertex(remote.state) in WAITING_AT_VERTEX:
        return None
    return start if start < started_at else None


def settle_start(job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    """Record that the first run began earlier than at the answer that showed it. A job that restarted is unchanged."""
    start = earlier_start(job.started_at, remote, now)
    has_restarted = job.restarts or job.waited_again_seconds or job.waiting_again_since is not None
    if start is None or has_restarted or job.kind != Job.Kind.CUSTOM_JOB:
        return
    waits = job.events.filter(kind=JobEvent.Kind.STATE).exclude(to_state__in=timeline.BILLABLE | FINISHED)
    if waits.filter(occurred_at__gt=start).exists():
        return
    words = "All replicas were running (recorded later, from its start time)."
    _correct(job, JobState.RUNNING, start, words, reason="settled", now=now)


def record_logged_runs(job: Job, *, now: datetime) -> None:
    """Record the runs of a custom job that ended or waits and never was seen to run, from the service's log.

    The end of a run is the line with which the next attempt begins. A run that may still last is left to the polls.
    The job's row is locked and read again; a repeated call changes nothing. `job` itself is not changed.
    """
    if job.kind != Job.Kind.CUSTOM_JOB:
        return
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if locked.started_at is not None or not (locked.is_finished or locked.state in WAITING_AT_VERTEX):
            return
        shown = {ATTEMPT_RUNS: JobState.RUNNING, ATTEMPT_BEGINS: JobState.PENDING}
        lines = LogLine.objects.filter(job=locked, replica=SERVICE, message__in=shown, timestamp__lte=now)
        changes: list[tuple[JobState, datetime]] = []
        for line in lines.order_by("timestamp", "pk"):
            state = shown[line.message]
            if state != (changes[-1][0] if changes else JobState.PENDING):
                changes.append((state, line.timestamp))
        if not locked.is_finished and changes and changes[-1][0] == JobState.RUNNING:
            changes.pop()
        for state, at in changes:
            if locked.ended_at is None or at < locked.ended_at:
                _correct(locked, state, at, WORDS[state], reason="logged", now=now)


def _correct(job: Job, state: JobState, at: datetime, words: str, *, reason: str, now: datetime) -> None:
    transitions.record_event(
        job,
        JobEvent.Kind.CORRECTED,
        now=now,
        occurred_at=at,
        to_state=state,
        reason=reason,
        message=words,
        once_key=f"corrected:{state}:{at.isoformat()}",
    )
