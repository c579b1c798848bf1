"""The log of a job: the newest lines by replica and attempt, lines added since, and all kept lines as text."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django_htmx.http import replace_url, reswap, retarget

from dashboard.access import Request, job_for
from dashboard.pages.parts.fragments import SHOWN, page_query
from dashboard.pages.parts.log_page import TAIL_LINES, cursor_of, load_log, log_context, newest_lines
from dashboard.pages.parts.log_view import LogView, format_text
from dashboard.queries.jobs import list_events
from dashboard.queries.logs import filter_lines_from, get_line_before
from jobs.bounds import parse_digits
from jobs.clock import database_now

MAX_LINES = 2 * TAIL_LINES
"""Longest log to extend with new lines. A longer one is replaced by the newest lines."""


@require_safe
def log(request: Request, pk: UUID) -> HttpResponse:
    """Return the log part with its newest lines, and set the page's address to the selection."""
    job, now = job_for(request, pk), database_now()
    context = log_context(request, job, now, list_events(job))
    response = render(request, "job.html#log", context)
    shown = page_query(request)
    kept = urlencode([(name, str(shown[name])) for name in SHOWN if name in shown])
    query = "&".join(filter(None, (context["chosen"], kept)))
    return replace_url(response, f"{reverse('job', args=[job.pk])}?{query}")


@require_safe
def new_lines(request: Request, pk: UUID) -> HttpResponse:
    """Return the lines that arrived since the last response, each run of them with the line that it follows.

    The parameters describe what the page shows: `first` is the number of its first line, `after` the largest number of
    any line, `shape` a hash of the headings and filters. If they no longer match, the whole log part is returned.
    """
    job, now = job_for(request, pk), database_now()
    view, context = load_log(request, job, now, list_events(job))
    line = view.lines.filter(pk=parse_digits(request.GET.get("first", "")) or 0).first()
    lines = list(filter_lines_from(view.lines, line)[: MAX_LINES + 1]) if line is not None else []
    if request.GET.get("shape") != context["shape"] or not 0 < len(lines) <= MAX_LINES:
        return _render_whole(request, view, context)
    after = parse_digits(request.GET.get("after", "")) or 0
    if all(line.pk <= after for line in lines):
        return HttpResponse(status=204)
    runs = view.runs(lines, get_line_before(view.lines, lines[0]), after=after)
    if runs is None:
        return _render_whole(request, view, context)
    return render(request, "job/log_new.html", context | {"runs": runs, "cursor": cursor_of(view, context, lines)})


@require_safe
def text(request: Request, pk: UUID) -> HttpResponse:
    """Return every kept line that matches the filters, as a text file."""
    job = job_for(request, pk)
    view = LogView(job, list_events(job), database_now(), request.GET.dict())
    body = "".join(f"{line}\n" for line in format_text(view.entries(list(view.lines), None)))
    response = HttpResponse(body, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="log-{job.pk}.txt"'
    return response


def _render_whole(request: Request, view: LogView, context: dict[str, Any]) -> HttpResponse:
    """Return the whole log part, or 204 if it was empty and still is."""
    if request.GET.get("shape") == context["shape"] and not request.GET.get("first") and not view.lines.exists():
        return HttpResponse(status=204)
    response = render(request, "job.html#log", context | newest_lines(view, context))
    return reswap(retarget(response, "#log"), "outerHTML")
