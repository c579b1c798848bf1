"""The work that ended jobs lost in restarts, as shown on their pages: from progress, checkpoints or whole attempts."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from jobs import timeline
from jobs.metrics import Record, Totals
from jobs.models import Job, JobEvent, JobMetrics, Trial
from jobs.timeline.attempts import CAUSES
from jobs.timeline.trial_time import machine_spans

PREEMPTED = CAUSES["preempted"]
OF_TRIAL = re.compile(r"trial (\S+) (.+)")
"""A replica of a trial, as named in events."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Run time that had to be repeated: after all restarts, and after preemptions only."""

    time: timedelta
    preempted: timedelta


NO_LOSS = Lost(timedelta(), timedelta())


def restart_losses(jobs: Sequence[Job]) -> dict[UUID, Lost]:
    """Return the loss of those jobs that have ended and were restarted. Makes two queries at most.

    Trials of a tuning job restart separately: see `trial_losses`.
    """
    restarted = {job.pk: job for job in jobs if job.restarts and job.ended_at is not None and job.trial_seconds is None}
    if not restarted:
        return {}
    events: dict[UUID, list[JobEvent]] = {pk: [] for pk in restarted}
    for event in JobEvent.objects.without_passing().filter(job__in=restarted).defer("message").order_by("job", "id"):
        events[event.job_id].append(event)
    metrics = JobMetrics.objects.only("record", "checkpoints").in_bulk(restarted)
    return {pk: _lost(job, timeline.holding(events[pk]), metrics.get(pk)) for pk, job in restarted.items()}


def trial_losses(events: Mapping[UUID, Sequence[JobEvent]]) -> dict[UUID, tuple[int, Lost]]:
    """Return how often trials of tuning jobs were preempted, and what that lost. Makes one query at most.

    `events` are the restarts of each job. A preempted trial starts again from the beginning, so its run until then is
    lost. The replicas of a trial report the same preemption, so the highest count of one replica is used.
    """
    counts = {job: found for job, rows in events.items() if (found := _preempted_trials(rows))}
    lost = dict.fromkeys(counts, timedelta())
    for trial in Trial.objects.filter(job__in=counts, trial_id__in=set().union(*counts.values())) if counts else ():
        times = counts[trial.job_id][trial.trial_id]
        runs = [span.end - span.start for span in machine_spans(trial) if span.end is not None]
        lost[trial.job_id] += sum(runs[:-1][:times], timedelta())
    return {job: (found.total(), Lost(lost[job], lost[job])) for job, found in counts.items()}


def _preempted_trials(rows: Sequence[JobEvent]) -> Counter[str]:
    """Return {number of a trial: how often it was preempted}."""
    counts = Counter(
        (found[1], found[2])
        for row in rows
        if row.kind == JobEvent.Kind.RESTARTED and row.reason == "preempted"
        if (found := OF_TRIAL.match(str(row.detail.get("replica") or "")))
    )
    trials: Counter[str] = Counter()
    for (trial, _), times in counts.items():
        trials[trial] = max(trials[trial], times)
    return trials


def _lost(job: Job, events: Sequence[JobEvent], metrics: JobMetrics | None) -> Lost:
    assert job.ended_at is not None
    record = Record.load(metrics.record, Totals()) if metrics is not None else Record()
    saved = timeline.moments_of(metrics.checkpoints) if metrics is not None else []
    tries = timeline.attempts(events, job.ended_at)
    rows = timeline.attempt_rows(job, events, tries, job.ended_at, runs=record.runs, checkpoints=saved)
    losses = [(row.cause, row.loss.time) for row in rows if row.loss is not None]
    return Lost(
        sum((time for _, time in losses), timedelta()),
        sum((time for cause, time in losses if cause == str(PREEMPTED)), timedelta()),
    )
