"""The history: every job of the person's teams, newest first, narrowed by filters in the address."""

from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse

from dashboard.access import Job, Request, jobs_of
from dashboard.access.pools import holdings_for
from dashboard.forms.history import HistoryForm
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.pages.parts.rows import row_of
from dashboard.pages.parts.search import states_for
from jobs.lifecycle import database_now

PAGE_SIZE = 50


def history(request: Request) -> HttpResponse:
    """Show one page of the history."""
    now = database_now()
    form = HistoryForm(request.GET)
    form.is_valid()
    jobs = _narrowed(jobs_of(request.user).select_related("approval__decided_by"), form.cleaned_data)
    found = list(_after(jobs, request.GET.get("before", "")).order_by("-requested_at", "pk")[: PAGE_SIZE + 1])
    held = holdings_for(request.user, found[:PAGE_SIZE])
    rows = [row_of(job, now, held=held) for job in found[:PAGE_SIZE]]
    context = {
        "now": now,
        "form": form,
        "rows": rows,
        "older": _cursor(rows[-1].job) if len(found) > PAGE_SIZE else "",
        "is_first": not request.GET.get("before"),
        "is_narrowed": any(value for name, value in form.cleaned_data.items() if name != "by"),
    }
    return page_or_fragment(request, "history.html", "found", context)


def _narrowed(jobs: QuerySet[Job], wanted: dict[str, Any]) -> QuerySet[Job]:
    """Return the jobs that the filters leave; a filter that could not be read is not in `wanted`."""
    condition = Q()
    if text := wanted.get("q"):
        condition &= Q(display_name__icontains=text)
    if state := wanted.get("state"):
        condition &= Q(state=state[1:]) if state.startswith("=") else Q(state__in=states_for(state))
    if strategy := wanted.get("strategy"):
        condition &= Q(strategy=strategy)
    if owner := wanted.get("owner"):
        condition &= Q(owner__username__iexact=owner)
    column = "ended_at" if wanted.get("by") == "ended" else "requested_at"
    if since := wanted.get("since"):
        condition &= Q(**{f"{column}__gte": datetime.combine(since, time(), UTC)})
    if until := wanted.get("until"):
        condition &= Q(**{f"{column}__lt": datetime.combine(until + timedelta(days=1), time(), UTC)})
    return jobs.filter(condition)


def _cursor(job: Job) -> str:
    """Return where the next page begins: after this row."""
    return f"{job.requested_at.isoformat()}~{job.pk}"


def _after(jobs: QuerySet[Job], cursor: str) -> QuerySet[Job]:
    """Return the jobs after the cursor in the page's order; a cursor that cannot be read begins at the newest."""
    moment, _, key = cursor.partition("~")
    try:
        at, pk = datetime.fromisoformat(moment.replace(" ", "+")), UUID(key)
    except ValueError:
        return jobs
    if at.tzinfo is None:
        return jobs
    return jobs.filter(Q(requested_at__lt=at) | Q(requested_at=at, pk__gt=pk))
