"""Two jobs side by side, field by field; what differs comes first."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Job, Request, job_for, jobs_of
from dashboard.access.baselines import baselines_of
from dashboard.access.starts import uuid
from dashboard.pages.parts.differences import comparison
from jobs.spec.compare import OWN_LABELS

MOST_CHOICES = 60
"""Recent jobs that the two menus offer."""


@require_safe
def compare(request: Request) -> HttpResponse:
    """Compare the jobs `a` and `b` of the address, or let the person choose them."""
    first, second = _asked(request, "a"), _asked(request, "b")
    has_labels = request.GET.get("labels") != "no"
    context: dict[str, Any] = {
        "first": first,
        "second": second,
        "has_labels": has_labels,
        "choices": _choices(request, first, second),
    }
    if first and second:
        context["comparison"] = comparison(first, second, without=OWN_LABELS if has_labels else ("labels",))
    elif chosen := first or second:
        context["chosen"] = chosen
        context["baseline"] = baselines_of(request.user, [chosen]).get(chosen.pk)
    return render(request, "compare.html", context)


def _asked(request: Request, name: str) -> Job | None:
    """Return the job that the address names, 404 for one that the person may not see; None where it names none."""
    key = request.GET.get(name, "")
    return job_for(request, uuid(key)) if key else None


def _choices(request: Request, *chosen: Job | None) -> list[Job]:
    """Return the chosen jobs, those of the same names, and the most recent ones, without their specs."""
    names = {job.display_name for job in chosen if job}
    jobs = jobs_of(request.user).defer("spec", "estimate", "error").order_by("-requested_at", "pk")
    alike = list(jobs.filter(display_name__in=names)[:MOST_CHOICES]) if names else []
    found = {job.pk: job for job in (*(job for job in chosen if job), *alike, *jobs[:MOST_CHOICES])}
    return list(found.values())
