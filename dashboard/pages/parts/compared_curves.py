"""The curves of several jobs on the compare page: which metrics they share, and the lines of one of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard.drawing.job_curves import JobCurve, Points
from dashboard.pages.parts.job_curves import moves
from dashboard.queries.jobs import get_measured
from jobs.metrics import Series, importance
from jobs.models import Job

MAX_JOBS = 8
"""Jobs in one comparison: more columns fit on no screen, and the colours of more lines look alike."""
MAX_METRICS = 12
"""Metrics offered, those of most jobs first."""
MAX_LINES = 40
"""Lines of one job, which are its replicas or trials, and its restarts."""


@dataclass(frozen=True, slots=True)
class ComparedCurves:
    """The curves of one metric of jobs. `metrics` are those that can be drawn, and `missing` the jobs without it.

    `has_steps` means that every value has a step, so that they can be drawn over steps too.
    """

    metric: str
    metrics: Sequence[str]
    by_time: bool
    has_steps: bool
    curves: Sequence[JobCurve]
    missing: Sequence[Job]


def compare_curves(jobs: Sequence[Job], metric: str, *, by_time: bool) -> ComparedCurves | None:
    """Return the curves of `metric`, or else of the most important one that most jobs have. None if none has any.

    They are over time if `by_time`, or if some value of the metric has no step. No query for jobs with their metrics.
    """
    series = [[each for each in get_measured(job).series if moves(each)] for job in jobs]
    having = Counter(name for of_job in series for name in {each.name for each in of_job})
    names = sorted(having, key=lambda name: (-having[name], importance(name)))
    if not names:
        return None
    chosen = metric if metric in having else names[0]
    drawn = [[each for each in of_job if each.name == chosen] for of_job in series]
    has_steps = all(step is not None for of_job in drawn for each in of_job for _, step, _ in each.shown)
    by_time = by_time or not has_steps
    curves = []
    for number, (job, of_job) in enumerate(zip(jobs, drawn, strict=True), 1):
        if lines := [line for each in of_job for line in _lines(job, each, by_time=by_time)][:MAX_LINES]:
            curves.append(JobCurve(number, job.display_name, lines))
    missing = [job for number, job in enumerate(jobs, 1) if number not in {curve.number for curve in curves}]
    return ComparedCurves(chosen, names[:MAX_METRICS], by_time, has_steps, curves, missing)


def _lines(job: Job, series: Series, *, by_time: bool) -> Iterator[Points]:
    """Yield the points of a series in lines. A step below the last one begins another: a restart."""
    points = series.shown
    began = job.started_at.timestamp() if job.started_at else points[0][0]
    line: list[tuple[float, float]] = []
    before: int | None = None
    for at, step, value in points:
        if before is not None and step is not None and step < before:
            yield line
            line = []
        line.append((max(at - began, 0.0) if by_time else float(step or 0), value))
        before = step
    yield line
