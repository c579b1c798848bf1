"""Poll the custom jobs of trials: only their states show when a trial had machines, and so what it cost.

A tuning job reports ACTIVE both for a trial that waits for machines and for one that runs. So the custom job of each
trial is requested by name until it has ended, those requested longest ago first. Each poll requests only some of
hundreds of them. A failed call does not change what is recorded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from jobs import states, storable, timeline, transitions, vertex
from jobs.bounds import past_moment
from jobs.models import Job, Scope, Trial
from jobs.observation import cadence
from jobs.observation.set_aside import SetAside
from jobs.observation.starts import machines_started
from jobs.queue import rate_limit
from jobs.states import FINISHED, JobState
from jobs.timeline.trial_time import ENDED
from jobs.vertex import RemoteJob

AT_ONCE = 50
"""Custom jobs requested per poll. At one poll every ten seconds this is half of the read quota of a region."""
SETTLED_WITHIN = timedelta(minutes=10)
"""How long after the end of a tuning job the remaining custom jobs of its trials are still requested."""
MAX_STATES = 100
"""State changes kept of one custom job. Six restarts of each kind cause fewer."""
COLUMNS = ("job_states", "job_error", "job_asked_at", "job_is_settled")


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a poll needs to request single jobs."""

    get: Callable[[str, str, str], RemoteJob]
    """Takes a kind, a job's name and the service account of the call. Returns the job from Vertex AI."""
    aside: SetAside
    watch: cadence.Stopwatch
    now: datetime


def trials_to_ask(scope: Scope, now: datetime) -> QuerySet[Trial]:
    """Return the trials of a scope's jobs whose custom job may still have news, those requested longest ago first."""
    is_open = Q(job__ended_at=None) | Q(job__ended_at__gt=now - SETTLED_WITHIN)
    place = {"job__project": scope.project, "job__region": scope.region, "job__kind": scope.kind}
    found = Trial.objects.filter(is_open, **place, job_is_settled=False).exclude(custom_job="")
    return found.order_by(F("job_asked_at").asc(nulls_first=True), "pk")


def poll_trial_jobs(scope: Scope, lookup: Lookup) -> vertex.VertexError | None:
    """Get custom jobs of trials and record their states. Return the last failure, if any.

    End early if the rate limit or the time of the poll is used up. The caller holds the claim.
    """
    answers: dict[UUID, list[tuple[int, RemoteJob | None]]] = {}
    last_error: vertex.VertexError | None = None
    columns = ("pk", "job", "custom_job", "job__acts_as")
    for pk, job, name, acts_as in trials_to_ask(scope, lookup.now).values_list(*columns)[:AT_ONCE]:
        if lookup.watch.has_run_out:
            break
        try:
            answers.setdefault(job, []).append((pk, lookup.get(Job.Kind.CUSTOM_JOB, name, acts_as)))
        except vertex.NotFound:
            answers[job].append((pk, None))
        except rate_limit.OverRateLimit as error:
            last_error = error
            break
        except vertex.VertexError as error:
            last_error = error
    for job, answer in answers.items():
        with lookup.aside.item(f"custom jobs of the trials of {job}"):
            _record(job, answer, lookup.now)
    return last_error


def _record(job: UUID, answers: Sequence[tuple[int, RemoteJob | None]], now: datetime) -> None:
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job)
        rows = Trial.objects.in_bulk([pk for pk, _ in answers])
        for pk, remote in answers:
            record_answer(rows[pk], remote, now)
            storable.fit(rows[pk])
        Trial.objects.bulk_update(rows.values(), COLUMNS, batch_size=100)
        if answers:
            count_trials(locked, now=now)


def record_answer(trial: Trial, remote: RemoteJob | None, now: datetime) -> None:
    """Update a trial from the answer about its custom job. None means that Vertex AI does not know the custom job.

    That may be temporary, so such a trial is settled only if it has ended itself.
    """
    trial.job_asked_at = now
    if remote is None:
        trial.job_is_settled = trial.state in ENDED
        return
    changes = [(state, datetime.fromisoformat(at)) for state, at in trial.job_states or ()]
    if is_old(changes, remote, now):
        return
    changes = with_answer(changes, remote, now)
    trial.job_states = [[each, at.isoformat()] for each, at in changes]
    trial.job_error = str((remote.error or {}).get("message", ""))
    trial.job_is_settled = states.from_vertex(remote.state) in FINISHED


def is_old(changes: Sequence[tuple[str, datetime]], remote: RemoteJob, now: datetime) -> bool:
    """Return whether an answer is older than one already used."""
    updated = past_moment(remote.update_time, now)
    return bool(changes) and updated is not None and updated < changes[-1][1]


def with_answer(changes: list[tuple[str, datetime]], remote: RemoteJob, now: datetime) -> list[tuple[str, datetime]]:
    """Return a custom job's state changes followed by those that an answer adds.

    The first start may be known even if no poll observed it. "" is a wait before it that no poll observed.
    """
    waited_at = next((at for each, at in changes[-1:] if each in states.WAITING_AT_VERTEX), None)
    started = machines_started(remote, now, waited_at=waited_at)
    created = past_moment(remote.create_time, now)
    updated, state = past_moment(remote.update_time, now), states.from_vertex(remote.state)
    news: list[tuple[str, datetime]] = []
    if not changes and created is not None:
        news.append((JobState.QUEUED if state == JobState.QUEUED else "", created))
    has_run = any(each == JobState.RUNNING for each, _ in changes)
    if started is not None and not has_run:
        news.append((JobState.RUNNING, started))
    last = next((each for each, _ in reversed([*changes, *news])), None)
    if state != last:
        ended = past_moment(remote.end_time, now) if state in FINISHED else None
        news.append((state, ended or updated or now))
    for each, at in news:
        is_kept = len(changes) < MAX_STATES or each in FINISHED
        changes = [*changes, (each, max([at, *(before for _, before in changes[-1:])]))] if is_kept else changes
    return changes


def count_trials(job: Job, *, now: datetime) -> None:
    """Write the trial columns of a tuning job that lists show: machine time until `now`, and a summary.

    Also record when the first machines of a pipeline that tunes worked, which its own state does not show.
    The caller has written the trials and holds the lock on the job's row.
    """
    found = timeline.study(job, job.trials.all())
    if found is None:
        return
    until = min(job.ended_at or now, now)
    counted = timeline.trial_time(found.trials, until)
    columns = {
        "parallel_trials": timeline.parallel_trials(job),
        "trial_seconds": counted.total.total_seconds(),
        "trials_running": counted.running,
        "trials_counted_at": until,
        "trials_summary": timeline.summary(found),
        "is_counted": False,
    }
    storable.update_row(job, storable.fit_columns(Job, columns))
    starts = [span.start for trial in found.trials for span in timeline.machine_spans(trial)]
    if job.kind == Job.Kind.PIPELINE and not job.custom_job_state and starts:
        words = "The first trial is running."
        transitions.record_custom_job_state(job, "", JobState.RUNNING, now=now, occurred_at=min(starts), message=words)
