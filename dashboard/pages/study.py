"""A study: every trial of a tuning job in a table and a chart, and as CSV; and its summary on the job's page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from dashboard.access import Job, Request, Trial, study_job_for, trials_of
from dashboard.pages.parts.csv_file import csv_file
from dashboard.pages.parts.fragments import page_or_fragment
from jobs import timeline
from jobs.lifecycle import database_now

PAGE_SIZE = 50
TOP = 5


@dataclass(frozen=True, slots=True)
class TrialRow:
    """What the table shows of a trial; parameters and metrics stand in the order of the study's columns."""

    trial: Trial
    is_best: bool
    parameters: Sequence[tuple[str, Any]]
    metrics: Sequence[tuple[str, float | None]]
    length: timedelta | None
    log: str
    """What its lines in the job's log are called; "" where it has written none that could be found."""


@dataclass(frozen=True, slots=True)
class Column:
    """A head by which the table can be sorted: the link's value, and "ascending" or "descending" where it is."""

    title: str
    sort: str
    order: str
    note: str = ""


@require_safe
def study(request: Request, pk: UUID) -> HttpResponse:
    """Show all trials of a study."""
    now = database_now()
    job = study_job_for(request, pk)
    found = _study(job)
    sort = request.GET.get("sort", "")
    page = Paginator(sorted_trials(found, sort), PAGE_SIZE).get_page(request.GET.get("page"))
    context = summary_of(job, found) | {
        "now": now,
        "job": job,
        "metric": _metric(found, request.GET.get("metric", "")),
        "page": page,
        "rows": [_row(job, found, trial, now) for trial in page],
        "columns": columns_of(found, sort),
    }
    return page_or_fragment(request, "study.html", "study", context)


@require_safe
def trials_csv(request: Request, pk: UUID) -> HttpResponse:
    """Return every trial that was seen as CSV, in the order of their numbers."""
    job = study_job_for(request, pk)
    found = _study(job)
    head = ["trial", "state", "best", *(f"parameter {name}" for name in found.parameters)]
    head += [*(f"metric {metric.id}" for metric in found.metrics), "step"]
    head += ["started", "ended", "seconds", "reason", "custom job"]
    rows = [_record(_row(job, found, trial, database_now())) for trial in found.trials]
    return csv_file(f"trials-{job.pk}.csv", head, rows)


def study_part(job: Job, now: datetime) -> dict[str, Any]:
    """Return what the job's page tells of a study: the summary and the best few; nothing for a job without one."""
    if timeline.study_spec(job) is None:
        return {}
    found = _study(job)
    top = timeline.ranked(found, found.objectives[0]) if found.objectives else list(found.trials)
    rows = [_row(job, found, trial, now) for trial in top[:TOP]]
    return summary_of(job, found) | {"metric": _metric(found, ""), "trial_rows": rows, "trial_top": TOP}


def summary_of(job: Job, found: timeline.Study) -> dict[str, Any]:
    """Return the figures above the table."""
    waits = found.most - len(found.trials) if not job.is_finished else 0
    return {"study": found, "is_front": len(found.objectives) > 1, "trials_to_come": max(waits, 0)}


def sorted_trials(found: timeline.Study, sort: str) -> list[Trial]:
    """Return the trials as the address wants: `trial` or `metric:ID` (the best first), with a minus the other way.

    Those without a value stand last in both. An address that names nothing known gets the order of the numbers.
    """
    name = sort.removeprefix("-")
    metric = next((each for each in found.metrics if f"metric:{each.id}" == name), None)
    if metric is None:
        return list(found.trials)[:: -1 if sort == "-trial" else 1]
    ranked = timeline.ranked(found, metric)
    if not sort.startswith("-"):
        return ranked
    without = [trial for trial in ranked if timeline.value_of(trial, metric) is None]
    return ranked[: len(ranked) - len(without)][::-1] + without


def columns_of(found: timeline.Study, sort: str) -> dict[str, Any]:
    """Return the heads of the table: those that sort, and the parameters."""
    known = {"trial", *(f"metric:{metric.id}" for metric in found.metrics)}
    now = sort if sort.removeprefix("-") in known else "trial"

    def head(title: str, name: str, *, falls: bool, note: str = "") -> Column:
        orders = ("descending", "ascending") if falls else ("ascending", "descending")
        order = "" if now.removeprefix("-") != name else orders[now.startswith("-")]
        return Column(title, f"-{name}" if now == name else name, order, note)

    return {
        "trial": head("Trial", "trial", falls=False),
        "parameters": found.parameters,
        "metrics": [
            head(metric.id, f"metric:{metric.id}", falls=metric.is_more_better, note=_note(metric))
            for metric in found.metrics
        ],
    }


def _study(job: Job) -> timeline.Study:
    found = timeline.study(job, trials_of(job))
    assert found is not None, "the caller has asked whether the job tunes"
    return found


def _metric(found: timeline.Study, wanted: str) -> timeline.Metric | None:
    """Return the metric that the chart draws: the one that the address names, else the first objective."""
    return next((each for each in found.metrics if each.id == wanted), next(iter(found.metrics), None))


def _note(metric: timeline.Metric) -> str:
    if metric.limit is not None:
        return f"{'at least' if metric.is_more_better else 'at most'} {metric.limit:g}"
    return "more is better" if metric.is_more_better else "less is better"


def _row(job: Job, found: timeline.Study, trial: Trial, now: datetime) -> TrialRow:
    number = trial.custom_job.rpartition("/")[2]
    return TrialRow(
        trial=trial,
        is_best=trial in found.best,
        parameters=[(name, trial.parameters.get(name)) for name in found.parameters],
        metrics=[(metric.id, trial.metrics.get(metric.id)) for metric in found.metrics],
        length=timeline.length_of(trial, now),
        log=job.log_sources.get(number, "") if number else "",
    )


def _record(row: TrialRow) -> list[object]:
    trial = row.trial
    values = [value for _, value in (*row.parameters, *row.metrics)]
    seconds = None if row.length is None else round(row.length.total_seconds())
    known = [trial.trial_id, trial.state, "best" if row.is_best else "", *values, trial.step_count]
    return [*known, trial.started_at, trial.ended_at, seconds, trial.infeasible_reason, trial.custom_job]
