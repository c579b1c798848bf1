"""Two jobs side by side: their outcomes, then every field, with differing fields first."""

from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Request, job_for
from dashboard.access.loaders import parse_uuid
from dashboard.pages.parts.differences import comparison
from dashboard.pages.parts.outcomes import outcomes
from dashboard.queries.baselines import get_baseline
from dashboard.queries.history import list_history
from jobs.clock import display_now
from jobs.models import Job
from jobs.spec.compare import OWN_LABELS

MAX_CHOICES = 60
"""Recent jobs in each of the two menus."""


@require_safe
def compare(request: Request) -> HttpResponse:
    """Compare the jobs `a` and `b` in the address, or show menus to choose them."""
    first, second = _job(request, "a"), _job(request, "b")
    has_labels = request.GET.get("labels") != "no"
    context: dict[str, Any] = {
        "first": first,
        "second": second,
        "has_labels": has_labels,
        "choices": _choices(request, first, second),
    }
    if first and second:
        context["outcomes"] = outcomes(first, second, now=display_now())
        context["comparison"] = comparison(first, second, without=OWN_LABELS if has_labels else ("labels",))
    elif chosen := first or second:
        context["chosen"] = chosen
        context["baseline"] = get_baseline(request.user, chosen)
    return render(request, "compare.html", context)


def _job(request: Request, name: str) -> Job | None:
    """Return the job named in the address, None if it names none. Raise Http404 for an unknown job."""
    key = request.GET.get(name, "")
    return job_for(request, parse_uuid(key)) if key else None


def _choices(request: Request, *chosen: Job | None) -> list[Job]:
    """Return the chosen jobs, recent jobs with the same names, and the most recent jobs."""
    names = {job.display_name for job in chosen if job}
    alike = list_history(request.user, MAX_CHOICES, matching=Q(display_name__in=names)).jobs if names else []
    recent = list_history(request.user, MAX_CHOICES).jobs
    choices = {job.pk: job for job in (*(job for job in chosen if job), *alike, *recent)}
    return list(choices.values())
