"""The training on a job's page: axis, progress, metrics, attempts, losses, and preceding waits."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dashboard.pages.parts.job_figures import compare_cost, done_of, main_metric
from dashboard.pages.parts.job_known import known_of
from dashboard.pages.parts.job_strip import Known, strip_of
from dashboard.pages.parts.job_times import times_of
from dashboard.pages.parts.rows import Row
from dashboard.queries.jobs import Measured, get_measured
from dashboard.queries.waits import get_past_waits, get_queue_place
from jobs import timeline
from jobs.explain import times_out_at
from jobs.models import Job
from jobs.states import WAITING
from jobs.strategies import STRATEGIES

MAX_ATTEMPTS = 50
"""Maximum attempts in the table. It lists the newest ones."""


def training_part(
    job: Job,
    story: timeline.JobTimeline,
    tries: timeline.Attempts | None,
    study: timeline.Study | None,
    row: Row,
    now: datetime,
    asked: Mapping[str, str],
) -> dict[str, Any]:
    """Return this part of the context. `asked` are the parameters of the address. At most five queries."""
    measured = get_measured(job)
    rows = _attempts(job, story, tries, measured, now)
    waits_now = job.state in WAITING
    strategy = STRATEGIES.get(job.strategy)
    is_preemptible = strategy is not None and strategy.preemptible
    cut = timeline.loss_if_cut(job, rows, now, measured.checkpoints) if is_preemptible else None
    is_before_start = waits_now and job.started_at is None
    past_waits = get_past_waits(job, now) if is_before_start or cut else None
    done, comparison = done_of(job, study, measured, now), compare_cost(job, rows, row.cost, now)
    queue_place = get_queue_place(job)
    known = Known(row, now, measured, study, done, main_metric(measured), comparison, past_waits, queue_place)
    times, limit = times_of(job, story, rows, measured, now, asked, tries, study), times_out_at(job, now)
    is_late = cut is not None and limit is not None and times.ends_at is not None and times.ends_at + cut.time > limit
    return {
        "strip": strip_of(known),
        "times": times,
        "late_if_cut": limit if is_late and times.end is not None and not times.end.is_timeout else None,
        "measured": measured,
        "attempt_rows": rows,
        "listed_attempts": rows[-MAX_ATTEMPTS:],
        "comparison": comparison,
        "cut": cut,
        "usual_wait": timeline.usual_wait(rows),
        "past_waits": past_waits,
        "queue_place": queue_place,
        "waits_at_vertex": is_before_start and job.is_remote,
        "waits_to_start": is_before_start,
        "newest_checkpoint": measured.checkpoints[-1] if measured.checkpoints else None,
    }


def loss_if_cancelled(job: Job, now: datetime) -> timeline.Loss | None:
    """Return the work that cancelling a running job would lose; None if it does not run."""
    measured, known = get_measured(job), known_of(job, now)
    return timeline.loss_if_cut(job, _attempts(job, known.story, known.tries, measured, now), now, measured.checkpoints)


def _attempts(
    job: Job, story: timeline.JobTimeline, tries: timeline.Attempts | None, measured: Measured, now: datetime
) -> tuple[timeline.Row, ...]:
    """Return the attempts of a job at Vertex AI; () for a tuning job, whose trials restart on their own."""
    if tries is None or not job.remote_name:
        return ()
    return timeline.attempt_rows(
        job, story.events, tries, now, runs=measured.record.runs, checkpoints=measured.checkpoints
    )
