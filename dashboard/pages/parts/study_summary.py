"""A study as pages show it: its figures, the metric of its chart, and rows of trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from jobs import timeline
from jobs.cost.actual import for_time
from jobs.models import Job, Trial

MAX_BEST = 5
"""Number of trials on the job's page."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial as a row of the table. Parameters and metrics are in the order of the study's columns."""

    trial: Trial
    state: str
    """State of the trial, or of its custom job while that waits for machines."""
    is_best: bool
    parameters: Sequence[tuple[str, Any]]
    metrics: Sequence[tuple[str, float | None]]
    ran: timedelta
    waited: timedelta
    why: str
    """Why the trial waits for machines."""
    cost: Decimal | None
    log: str
    """Name of its replicas in the job's log, or "" if the log has no lines of them."""


def study_part(job: Job, study: timeline.Study | None, now: datetime) -> dict[str, Any]:
    """Return the summary and the best trials for the job's page; {} for a job without a study."""
    if study is None:
        return {}
    best = timeline.ranked(study, study.objectives[0]) if study.objectives else list(study.trials)
    rows = [trial_row(job, study, trial, now) for trial in best[:MAX_BEST]]
    return summarize(job, study, now) | {"metric": select_metric(study, ""), "trial_rows": rows, "trial_top": MAX_BEST}


def summarize(job: Job, study: timeline.Study, now: datetime) -> dict[str, Any]:
    """Return the figures above the table."""
    price, is_open = timeline.trial_price(job), not job.is_finished
    return {
        "study": study,
        "is_front": len(study.objectives) > 1,
        "trials_to_come": study.to_come if is_open else 0,
        "why_to_come": timeline.to_come_words(study) if is_open else "",
        "trials_ran": timeline.total_run_time(study.trials, min(job.ended_at or now, now)),
        "trials_cost": timeline.cost_so_far(job, now),
        "usd_per_hour_now": None if price is None else price * study.running,
        "outlook": timeline.outlook(job, study, now),
    }


def select_metric(study: timeline.Study, metric_id: str) -> timeline.Metric | None:
    """Return the metric with this id, else the first objective, for the chart."""
    return next((each for each in study.metrics if each.id == metric_id), next(iter(study.metrics), None))


def trial_row(job: Job, study: timeline.Study, trial: Trial, now: datetime) -> TrialRow:
    """Return the row of one trial."""
    number = trial.custom_job.rpartition("/")[2]
    end = min(job.ended_at or now, now)
    billed = timeline.trial_time([trial], end).total
    price = timeline.trial_price(job)
    return TrialRow(
        trial=trial,
        state=timeline.state_now(trial),
        is_best=trial in study.best,
        parameters=[(name, trial.parameters.get(name)) for name in study.parameters],
        metrics=[(metric.id, trial.metrics.get(metric.id)) for metric in study.metrics],
        ran=timeline.ran(trial, end),
        waited=timeline.trial_waited(trial, end),
        why="" if job.is_finished else timeline.wait_words(job, trial),
        cost=None if price is None else for_time(price, billed),
        log=job.log_sources.get(number, "") if number else "",
    )
