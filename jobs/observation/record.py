"""Turn one answer of Vertex AI about one job into events: every state that can be known, and no other.

Answers repeat, arrive late and skip states. A repeated answer changes nothing. An answer older than one already used is
dropped. A start that no poll observed is taken from `startTime` once that is settled (`jobs.observation.starts`). A
span without polls is recorded as such.
"""

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from jobs import states, storable, timeline, transitions, vertex
from jobs.bounds import past_moment
from jobs.diagnosis import diagnose
from jobs.models import Job, JobEvent, LastSeen
from jobs.observation.log_sources import source_columns, web_access
from jobs.observation.starts import machines_started, settle_start
from jobs.observation.trial_jobs import count_trials
from jobs.observation.trials import record_trials
from jobs.observation.wait_reports import first_line, record_report
from jobs.states import FINISHED, JobState

BLIND_AFTER = timedelta(minutes=3)
"""A longer gap between two answers is shown as not observed, because a restart could have happened in it."""
LOST_AFTER = timedelta(minutes=10)

UPDATE_SEEN = "UPDATE jobs_sighting SET at = %s WHERE job_id IN ({marks})"

SENTENCES = {
    JobState.QUEUED: "Vertex AI queued the job.",
    JobState.PENDING: "Vertex AI is preparing machines.",
    JobState.RUNNING: "All replicas are running.",
    JobState.CANCELLING: "Vertex AI is cancelling the job.",
    JobState.SUCCEEDED: "The job succeeded: its primary replica exited with code 0.",
    JobState.PARTIALLY_SUCCEEDED: "The job partially succeeded: some of its results are missing.",
    JobState.CANCELLED: "The job was cancelled at Vertex AI.",
    JobState.EXPIRED: "The job expired at Vertex AI.",
}
OF_PIPELINE = SENTENCES | {
    JobState.PENDING: "Vertex AI is preparing the pipeline.",
    JobState.RUNNING: "Vertex AI is running the pipeline.",
    JobState.SUCCEEDED: "The pipeline succeeded.",
}
OF_TUNING = SENTENCES | {
    JobState.PENDING: "Vertex AI is preparing the first trials.",
    JobState.RUNNING: "The first trial is running.",
    JobState.SUCCEEDED: "The tuning job succeeded.",
}
OF_KIND: dict[str, dict[JobState, str]] = {Job.Kind.TUNING_JOB: OF_TUNING, Job.Kind.PIPELINE: OF_PIPELINE}


def record(job: Job, remote: vertex.RemoteJob, *, now: datetime, **columns: Any) -> None:
    """Update the job to what Vertex AI returned. `columns` are written with the first change.

    The caller holds the claim. If the answer contains nothing new, only the time it was seen is written. Nothing is
    written if another worker has recorded a newer answer since the job was read.
    """
    # An answer older than one already recorded would take the job back to an earlier state.
    known, reported = past_moment(job.remote_updated_at, now), past_moment(remote.update_time, now)
    if known is not None and reported is not None and reported < known:
        return
    updated_at = reported or job.remote_updated_at
    with transaction.atomic():
        if updated_at != job.remote_updated_at:
            as_read = Job.objects.filter(pk=job.pk, remote_updated_at=job.remote_updated_at)
            if not as_read.update(remote_updated_at=updated_at):
                return
        _record_gap(job, remote, now)
        has_news = record_trials(job, remote, now=now)  # before the state, whose event summarizes the trials
        before, after = job.state, states.from_vertex(remote.state)
        started_at = _unseen_start(job, remote, after, now)
        if started_at is not None:
            _backfill_start(job, started_at, now, columns)
        _record_state(job, remote, after, now, columns)
        settle_start(job, remote, now)
        _record_error(job, remote, now)
        if has_news or job.state != before:
            count_trials(job, now=now)
        columns = source_columns(job, remote) | {"web_access_uris": web_access(remote)}
        job.remote_updated_at = updated_at  # only now: a start is settled with the time before
        columns = storable.fit_columns(Job, columns)
        if any(getattr(job, name) != value for name, value in columns.items()):
            storable.update_row(job, columns)
        mark_seen([job.pk], now=now)
        job.last_seen = LastSeen(job=job, at=now)


def record_absence(job: Job, *, now: datetime) -> None:
    """Record that Vertex AI does not know the job, and mark it as lost if that continues.

    A 404 can be temporary (a wrong region host, a stale read), so the state changes only after `LOST_AFTER` without an
    answer that showed the job.
    """
    once_key = f"not_found:{job.seen_at and job.seen_at.isoformat()}"
    transitions.record_event(
        job,
        JobEvent.Kind.STEP_FAILED,
        now=now,
        reason="not_found",
        message="Vertex AI could not find this job. It may have been deleted there.",
        once_key=once_key,
    )
    since = job.events.get(once_key=once_key).recorded_at
    if now - since > LOST_AFTER:
        transitions.transition(
            job,
            JobState.LOST,
            now=now,
            reason="not_found",
            message="Vertex AI no longer has this job, so it is unknown how the job ended.",
        )


def number(remote: vertex.RemoteJob) -> str:
    """Return the job's number at Vertex AI, the last part of its name."""
    return remote.name.rpartition("/")[2]


def _record_gap(job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    has_ended = job.state in FINISHED - {JobState.LOST}  # read again for its details only
    if has_ended or job.seen_at is None or now - job.seen_at <= BLIND_AFTER:
        return
    transitions.record_event(
        job,
        JobEvent.Kind.UNSEEN,
        now=now,
        occurred_at=max(job.seen_at, min(now, past_moment(remote.end_time, now) or now)),
        message="Trainboard did not poll this job for a while and would have missed a restart.",
        once_key=f"unseen:{job.seen_at.isoformat()}",
        detail={"from": job.seen_at.isoformat()},
    )


def _unseen_start(job: Job, remote: vertex.RemoteJob, after: str, now: datetime) -> datetime | None:
    """Return when a job began to run of which no poll observed that, or None if it did not as far as anybody knows.

    The trials of a tuning job show when its first machines worked. A pipeline is RUNNING from its `startTime` on,
    whether it has machines or not.
    """
    if job.started_at is not None or after in timeline.BILLABLE:
        return None
    if job.kind == Job.Kind.CUSTOM_JOB:
        return machines_started(remote, now, waited_at=_waited_at(job))
    if job.kind == Job.Kind.PIPELINE:
        return past_moment(remote.start_time, now)
    spans = [span for trial in job.trials.all() for span in timeline.machine_spans(trial)]
    return min((span.start for span in spans), default=None) if after in FINISHED else None


def _waited_at(job: Job) -> datetime | None:
    return job.remote_updated_at if job.state in states.WAITING_AT_VERTEX else None


def _backfill_start(job: Job, at: datetime, now: datetime, columns: dict[str, Any]) -> None:
    """Record a start that no poll observed, unless the job cannot start any more."""
    transitions.transition(
        job,
        JobState.RUNNING,
        now=now,
        occurred_at=at,
        reason="backfilled",
        message=f"{_backfilled_words(job)} (recorded later, from its start time).",
        detail=_machines_of(job),
        **columns,
    )


def _backfilled_words(job: Job) -> str:
    if job.kind == Job.Kind.PIPELINE:
        return "The pipeline was running"
    return "The first trial was running" if job.kind == Job.Kind.TUNING_JOB else "All replicas were running"


def _machines_of(job: Job) -> dict[str, bool]:
    """Return what the event of RUNNING shows about machines: of a pipeline nothing, because it is RUNNING at once."""
    return {timeline.HAS_MACHINES: False} if job.kind == Job.Kind.PIPELINE else {}


def _record_state(job: Job, remote: vertex.RemoteJob, after: str, now: datetime, columns: dict[str, Any]) -> None:
    occurred_at = _moment(job, remote, after, now) or now
    message = _message(job, after, remote) if after != job.state else ""
    machines = _machines_of(job) if after in timeline.BILLABLE else {}
    transitions.transition(
        job,
        after,
        now=now,
        occurred_at=occurred_at,
        reason="observed",
        message=message,
        detail={"remote_name": remote.name, "remote_state": remote.state} | machines,
        error=(remote.error if after in FINISHED else None) or job.error,
        **columns,
    )


def _record_error(job: Job, remote: vertex.RemoteJob, now: datetime) -> None:
    """Record the error of a failed job, which may come in a later answer than the state.

    The error of a job that has not ended is no end of it (`wait_reports`).
    """
    if not remote.error or job.error == remote.error:
        return
    if job.state not in FINISHED:
        record_report(job, remote.error, now=now)
        return
    transitions.record_event(
        job,
        JobEvent.Kind.ERROR_LEARNED,
        now=now,
        message=f"Vertex AI gave the reason: {first_line(remote.error)}",
        once_key="error",
        detail={"error": remote.error},
        error=remote.error,
    )


def _moment(job: Job, remote: vertex.RemoteJob, after: str, now: datetime) -> datetime | None:
    """Return when the state began, as far as Vertex AI reports it."""
    updated = past_moment(remote.update_time, now)
    if after in timeline.BILLABLE and job.started_at is None and job.kind == Job.Kind.CUSTOM_JOB:
        return machines_started(remote, now, waited_at=_waited_at(job))
    if after in FINISHED:
        return past_moment(remote.end_time, now) or updated
    return updated or past_moment(remote.create_time, now)


def _message(job: Job, after: str, remote: vertex.RemoteJob) -> str:
    study = timeline.study(job, job.trials.all()) if after in FINISHED else None
    known = {str(state): text for state, text in OF_KIND.get(job.kind, SENTENCES).items()}
    if timeline.study_spec(job) is not None:  # also a pipeline that tunes
        known[JobState.SUCCEEDED] = OF_TUNING[JobState.SUCCEEDED]
    if after == JobState.FAILED:
        reason = first_line(remote.error)
        words = f"The job failed: {reason}" if reason else "The job failed. Vertex AI has not given a reason yet."
    elif after == JobState.CANCELLED and _is_timeout(remote):
        words = f"Vertex AI stopped the job because it reached its timeout: {first_line(remote.error)}"
    else:
        words = known.get(after, f"Vertex AI reported the state {remote.state or 'nothing'}.")
    if study is None or not study.trials:
        return words
    came = f"{timeline.summary(study)}."
    return " ".join(filter(None, (words, came, timeline.failures(study) if after == JobState.FAILED else "")))


def _is_timeout(remote: vertex.RemoteJob) -> bool:
    error = remote.error or {}
    known = diagnose(error.get("code"), str(error.get("message", "")))
    return known is not None and known.cause == "timeout"


def mark_seen(jobs: Collection[uuid.UUID], *, now: datetime) -> None:
    """Record that these jobs were seen at `now`, with one UPDATE, and one INSERT if a job is seen for the first time.

    The UPDATE is raw SQL because Django took a fifth of a poll to prepare the ids of thousands of jobs.
    """
    if not jobs:
        return
    key, at = Job._meta.pk, LastSeen._meta.get_field("at")
    keys = [key.get_db_prep_value(pk, connection, prepared=True) for pk in jobs]
    with connection.cursor() as cursor:
        statement = UPDATE_SEEN.format(marks=", ".join(["%s"] * len(keys)))
        cursor.execute(statement, [at.get_db_prep_value(now, connection), *keys])
        is_each_known = cursor.rowcount == len(keys)
    if not is_each_known:
        # Another worker may write the first answer about a job at the same time.
        unseen = Job.objects.filter(pk__in=jobs, last_seen=None).values_list("pk", flat=True)
        LastSeen.objects.bulk_create([LastSeen(job_id=pk, at=now) for pk in unseen], ignore_conflicts=True)
