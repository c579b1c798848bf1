"""What the job's page shows of the training: its axis, progress, metrics, attempts, losses, and the waits before it."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from dashboard.pages.parts.job_figures import compare_cost, done_of, main_metric
from dashboard.pages.parts.job_times import times_of
from dashboard.queries.metrics import get_measured
from dashboard.queries.waits import get_past_waits, get_queue_place
from jobs import timeline
from jobs.models import Job
from jobs.states import WAITING
from jobs.strategies import STRATEGIES

MAX_ATTEMPTS = 50
"""Attempts that the table lists, the newest."""


def training_part(
    job: Job,
    story: timeline.JobTimeline,
    tries: timeline.Attempts | None,
    study: timeline.Study | None,
    cost: Decimal | None,
    now: datetime,
    asked: Mapping[str, str],
) -> dict[str, Any]:
    """Return the part of the context; `asked` are the parameters of the address. At most five queries."""
    measured = get_measured(job)
    rows: tuple[timeline.Row, ...] = ()
    if tries is not None and job.remote_name:
        rows = timeline.attempt_rows(
            job, story.events, tries, now, runs=measured.record.runs, checkpoints=measured.checkpoints
        )
    waits_now = job.state in WAITING
    strategy = STRATEGIES.get(job.strategy)
    is_preemptible = strategy is not None and strategy.preemptible
    cut = timeline.loss_if_cut(job, rows, now, measured.checkpoints) if is_preemptible else None
    is_before_start = waits_now and job.started_at is None
    return {
        "times": times_of(job, story, rows, measured, now, asked, study),
        "measured": measured,
        "attempt_rows": rows,
        "listed_attempts": rows[-MAX_ATTEMPTS:],
        "done": done_of(job, study, measured, now),
        "metric_now": main_metric(measured),
        "comparison": compare_cost(job, rows, cost, now),
        "cut": cut,
        "usual_wait": timeline.usual_wait(rows),
        "past_waits": get_past_waits(job, now) if is_before_start or cut else None,
        "queue_place": get_queue_place(job),
        "waits_at_vertex": is_before_start and job.is_remote,
        "waits_to_start": is_before_start,
        "newest_checkpoint": measured.checkpoints[-1] if measured.checkpoints else None,
    }
