"""What restarts of ended jobs undid, as their pages tell it too: from progress, checkpoints, or the whole attempt."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from jobs import timeline
from jobs.metrics import Record, Totals
from jobs.models import Job, JobEvent, JobMetrics
from jobs.timeline.attempts import CAUSES

PREEMPTED = CAUSES["preempted"]


@dataclass(frozen=True, slots=True)
class Lost:
    """Run time that had to be spent again: after any restart, and of that after preemptions."""

    time: timedelta
    preempted: timedelta


NO_LOSS = Lost(timedelta(), timedelta())


def restart_losses(jobs: Sequence[Job]) -> dict[UUID, Lost]:
    """Return what restarts of those of the jobs lost that have ended and were restarted; two queries at most.

    Trials of a tuning job restart by themselves, which is not followed here.
    """
    restarted = {job.pk: job for job in jobs if job.restarts and job.ended_at is not None and job.trial_seconds is None}
    if not restarted:
        return {}
    events: dict[UUID, list[JobEvent]] = {pk: [] for pk in restarted}
    for event in JobEvent.objects.telling().filter(job__in=restarted).defer("message").order_by("job", "id"):
        events[event.job_id].append(event)
    metrics = JobMetrics.objects.only("record", "checkpoints").in_bulk(restarted)
    return {pk: _lost(job, events[pk], metrics.get(pk)) for pk, job in restarted.items()}


def _lost(job: Job, events: Sequence[JobEvent], metrics: JobMetrics | None) -> Lost:
    assert job.ended_at is not None
    record = Record.load(metrics.record, Totals()) if metrics is not None else Record()
    saved = timeline.moments_of(metrics.checkpoints) if metrics is not None else []
    tries = timeline.attempts(events, job.ended_at)
    rows = timeline.attempt_rows(job, events, tries, job.ended_at, runs=record.runs, checkpoints=saved)
    losses = [(row.cause, row.loss.time) for row in rows if row.loss is not None]
    return Lost(
        sum((time for _, time in losses), timedelta()),
        sum((time for cause, time in losses if cause == PREEMPTED), timedelta()),
    )
