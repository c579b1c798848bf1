"""A study: every trial of a tuning job in a table and a chart, and as CSV."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard.access import Request, can, job_for
from dashboard.access.audit_middleware import record_export
from dashboard.drawing.scatter_chart import points_of
from dashboard.drawing.trial_curves import curves_of
from dashboard.pages.parts.csv_file import csv_file
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.pages.parts.study_summary import TrialRow, select_metric, summarize, trial_row
from dashboard.queries.jobs import get_study
from jobs import timeline
from jobs.clock import display_now
from jobs.models import Job, Trial

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Column:
    """A column head that sorts the table: the link's value, and the current order as "ascending" or "descending"."""

    title: str
    sort: str
    order: str
    note: str = ""


@require_safe
def study(request: Request, pk: UUID) -> HttpResponse:
    """Show all trials of a study."""
    now = display_now()
    job, study = _load(request, pk)
    sort = request.GET.get("sort", "")
    page = Paginator(sort_trials(study, sort), PAGE_SIZE).get_page(request.GET.get("page"))
    metric = select_metric(study, request.GET.get("metric", ""))
    context = summarize(job, study, now) | {
        "now": now,
        "job": job,
        "metric": metric,
        "may_rerun": can(request.user, "request", job.team),
        **_parameter_part(study, metric, request.GET.get("parameter", "")),
        "curves": curves_of(study, metric),
        "influences": timeline.influences(study, metric) if metric is not None else [],
        "page": page,
        "rows": [trial_row(job, study, trial, now) for trial in page],
        "columns": list_columns(study, sort),
    }
    return page_or_fragment(request, "study.html", "study", context)


def _parameter_part(study: timeline.Study, metric: timeline.Metric | None, asked: str) -> dict[str, Any]:
    """Return the parameter to plot against the metric: the requested one, else the most influential.

    Return {} if no parameter has two trials with a result.
    """
    found = {name: points_of(study, metric, name) for name in study.parameters} if metric is not None else {}
    drawn = {name: points for name, points in found.items() if len(points) > 1}
    if metric is None or not drawn:
        return {}
    closest = next((each.parameter for each in timeline.influences(study, metric)), next(iter(drawn)))
    chosen = asked if asked in drawn else closest
    return {"parameter": chosen, "parameters": list(drawn), "points": drawn[chosen]}


@require_safe
def trials_csv(request: Request, pk: UUID) -> HttpResponse:
    """Return every observed trial as CSV, sorted by number."""
    job, study = _load(request, pk)
    head = ["trial", "state", "best", *(f"parameter {name}" for name in study.parameters)]
    head += [*(f"metric {metric.id}" for metric in study.metrics), "step"]
    head += ["started", "ended", "seconds waited", "seconds run", "cost usd", "reason", "custom job"]
    now = display_now()
    rows = [_csv_row(trial_row(job, study, trial, now)) for trial in study.trials]
    record_export(request, f"trials-{job.pk}.csv", job.team)
    return csv_file(f"trials-{job.pk}.csv", head, rows)


def _load(request: Request, pk: UUID) -> tuple[Job, timeline.Study]:
    """Return a tuning job and its study. Raise Http404 outside its team and for a job without a study."""
    job = job_for(request, pk)
    study = get_study(job)
    if study is None:
        raise Http404("This job has no study.")
    return job, study


def sort_trials(study: timeline.Study, sort: str) -> list[Trial]:
    """Sort trials by `trial` or `metric:ID` (best first). A leading minus reverses the order.

    Trials without a value come last in both directions. An unknown order sorts by number.
    """
    name = sort.removeprefix("-")
    metric = next((each for each in study.metrics if f"metric:{each.id}" == name), None)
    if metric is None:
        return list(study.trials)[:: -1 if sort == "-trial" else 1]
    ranked = timeline.ranked(study, metric)
    if not sort.startswith("-"):
        return ranked
    without = [trial for trial in ranked if timeline.value_of(trial, metric) is None]
    return ranked[: len(ranked) - len(without)][::-1] + without


def list_columns(study: timeline.Study, sort: str) -> dict[str, Any]:
    """Return the heads of the table: the sortable ones and the parameters."""
    known = {"trial", *(f"metric:{metric.id}" for metric in study.metrics)}
    now = sort if sort.removeprefix("-") in known else "trial"

    def head(title: str, name: str, *, falls: bool, note: str = "") -> Column:
        orders = ("descending", "ascending") if falls else ("ascending", "descending")
        order = "" if now.removeprefix("-") != name else orders[now.startswith("-")]
        return Column(title, f"-{name}" if now == name else name, order, note)

    return {
        "trial": head(_("Trial"), "trial", falls=False),
        "parameters": study.parameters,
        "metrics": [
            head(metric.id, f"metric:{metric.id}", falls=metric.is_more_better, note=_note(metric))
            for metric in study.metrics
        ],
    }


def _note(metric: timeline.Metric) -> str:
    if metric.limit is not None:
        words = _("at least %(limit)s") if metric.is_more_better else _("at most %(limit)s")
        return words % {"limit": f"{metric.limit:g}"}
    return _("more is better") if metric.is_more_better else _("less is better")


def _csv_row(row: TrialRow) -> list[object]:
    trial = row.trial
    values = [value for _, value in (*row.parameters, *row.metrics)]
    times = [round(row.waited.total_seconds()), round(row.ran.total_seconds())]
    cells = [trial.trial_id, row.state, "best" if row.is_best else "", *values, trial.step_count]
    cells += [trial.started_at, trial.ended_at, *times, None if row.cost is None else round(row.cost, 4)]
    return [*cells, trial.infeasible_reason or row.why, trial.custom_job]
