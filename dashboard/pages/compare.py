"""Jobs side by side: their outcomes, the curves of their metrics, then every field, with differing fields first."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Request, jobs_for
from dashboard.access.loaders import parse_uuid
from dashboard.pages.parts.compared_curves import MAX_JOBS, compare_curves
from dashboard.pages.parts.differences import compare_fields, comparison
from dashboard.pages.parts.outcomes import outcomes
from dashboard.queries.baselines import get_baseline
from dashboard.queries.history import list_history
from jobs.clock import display_now
from jobs.models import Job
from jobs.spec.compare import OWN_LABELS

MAX_CHOICES = 60
"""Recent jobs in the menu."""


class Column(NamedTuple):
    """One job of the comparison, its number, and the ids of the other jobs."""

    number: int
    job: Job
    others: list[UUID]


@require_safe
def compare(request: Request) -> HttpResponse:
    """Compare the jobs in the address, or offer jobs to add.

    `job` is repeated, one for each job; `a` and `b` are the first and the second of two. `metric` is the metric whose
    curves are drawn, and `by=time` draws them over time.
    """
    named = [request.GET.get("a", ""), request.GET.get("b", ""), *request.GET.getlist("job")]
    keys = list(dict.fromkeys(parse_uuid(key) for key in named if key))
    jobs = jobs_for(request, keys[:MAX_JOBS], joined=("metrics",))
    has_labels = request.GET.get("labels") != "no"
    numbered = enumerate(jobs, 1)
    context: dict[str, Any] = {
        "columns": [Column(number, job, [each.pk for each in jobs if each is not job]) for number, job in numbered],
        "keys": [job.pk for job in jobs],
        "swapped": [job.pk for job in reversed(jobs)],
        "left_out": len(keys) - len(jobs),
        "max_jobs": MAX_JOBS,
        "has_labels": has_labels,
        "choices": _choices(request, jobs) if len(jobs) < MAX_JOBS else [],
    }
    if len(jobs) == 1:
        context["baseline"] = get_baseline(request.user, jobs[0])
    elif jobs:
        context |= _compared(request, jobs, without=OWN_LABELS if has_labels else ("labels",))
    return render(request, "compare.html", context)


def _compared(request: Request, jobs: list[Job], without: Iterable[str]) -> dict[str, Any]:
    """Return the outcomes, curves and fields of at least two jobs. Two have their changes marked word by word."""
    curves = compare_curves(jobs, request.GET.get("metric", ""), by_time=request.GET.get("by") == "time")
    found = {"outcomes": outcomes(jobs, now=display_now()), "curves": curves}
    if len(jobs) == 2:
        return found | {"comparison": comparison(*jobs, without=without)}
    return found | {"fields": compare_fields(jobs, without=without)}


def _choices(request: Request, chosen: list[Job]) -> list[Job]:
    """Return recent jobs with the names of the chosen ones, then the most recent jobs, without those chosen."""
    names = {job.display_name for job in chosen}
    alike = list_history(request.user, MAX_CHOICES, matching=Q(display_name__in=names)).jobs if names else []
    recent = list_history(request.user, MAX_CHOICES).jobs
    choices = {job.pk: job for job in (*alike, *recent)}
    return [job for pk, job in choices.items() if pk not in {each.pk for each in chosen}][:MAX_CHOICES]
