"""The log of a job: its newest lines by replica and attempt, what is new of them, and all that is kept as text."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django_htmx.http import replace_url, reswap, retarget

from dashboard.access import (
    Job,
    JobEvent,
    LogLine,
    Request,
    events_of,
    job_for,
    line_before,
    lines_from,
    log_tail,
    silent_log,
)
from dashboard.pages.parts.log_command import command_of
from dashboard.pages.parts.log_view import LogView, as_text
from jobs import lifecycle
from jobs.lifecycle import database_now

TAIL_LINES = 200
MOST_SHOWN = 2 * TAIL_LINES
"""A page that has been followed until it shows more is drawn anew with the newest."""


@require_safe
def log(request: Request, pk: UUID) -> HttpResponse:
    """Return the log's part of the page, with its newest lines, and the page's address that names what was chosen."""
    job, now = job_for(request, pk), database_now()
    context = log_context(request, job, now, events_of(job))
    response = render(request, "job.html#log", context)
    return replace_url(response, f"{reverse('job', args=[job.pk])}?{context['chosen']}")


@require_safe
def new_lines(request: Request, pk: UUID) -> HttpResponse:
    """Return only the lines that came since the last answer, each run of them behind the line that it follows.

    The address says what the page shows: `first` is the number of its first line, `after` the largest number of any,
    `shape` what surrounds them. Where that does not hold any more, the log's whole part is returned instead.
    """
    job, now = job_for(request, pk), database_now()
    view, context = _context(request, job, now, events_of(job))
    lines = _shown(view, request.GET.get("first", ""))
    if request.GET.get("shape") != context["shape"] or not 0 < len(lines) <= MOST_SHOWN:
        return _redrawn(request, view, context)
    after = _number(request.GET.get("after", ""))
    if lines[-1].pk <= after and all(line.pk <= after for line in lines):
        return HttpResponse(status=204)
    runs = view.runs(lines, line_before(view.lines, lines[0]), after=after)
    if runs is None:
        return _redrawn(request, view, context)
    return render(request, "job/log_new.html", context | {"runs": runs, "cursor": _cursor(view, context, lines)})


@require_safe
def text(request: Request, pk: UUID) -> HttpResponse:
    """Return every kept line that the filters leave, as a text file."""
    job = job_for(request, pk)
    view = _view(request, job, events_of(job), database_now())
    lines = list(view.lines)
    body = "".join(f"{line}\n" for line in as_text(view.entries(lines, None)))
    response = HttpResponse(body, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="log-{job.pk}.txt"'
    return response


def log_context(request: Request, job: Job, now: datetime, events: Iterable[JobEvent]) -> dict[str, Any]:
    """Return the newest lines that the address asks for; and have the log read meanwhile."""
    view, context = _context(request, job, now, events)
    return context | _tail(view, context)


def _context(request: Request, job: Job, now: datetime, events: Iterable[JobEvent]) -> tuple[LogView, dict[str, Any]]:
    lifecycle.want_log(job, now=now)
    view = _view(request, job, events, now)
    may_grow = not (job.is_finished and (job.log_complete or not job.remote_name))
    silent = silent_log(job)
    return view, {
        "now": now,
        "job": job,
        "log": view,
        "chosen": urlencode({"replica": view.replica, "attempt": view.attempt}),
        "may_grow": may_grow,
        "follows": may_grow and request.GET.get("follow") != "no",
        "silent_log": silent,
        "shape": f"{view.shape}{may_grow:d}{bool(silent):d}",
        "tail_lines": TAIL_LINES,
        "command": command_of(job, replica=view.replica, since=view.since, until=view.until),
    }


def _view(request: Request, job: Job, events: Iterable[JobEvent], now: datetime) -> LogView:
    replica, attempt = (request.GET.get(name, "") for name in ("replica", "attempt"))
    return LogView(job, events, now, replica=replica, attempt=attempt)


def _tail(view: LogView, context: dict[str, Any]) -> dict[str, Any]:
    lines = log_tail(view.lines, TAIL_LINES + 1)
    before = lines.pop(0) if len(lines) > TAIL_LINES else None
    return {
        "entries": view.entries(lines, before),
        "is_cut": before is not None,
        "cursor": _cursor(view, context, lines),
    }


def _cursor(view: LogView, context: dict[str, Any], lines: list[LogLine]) -> str:
    """Return what the next question for new lines says about those that are shown."""
    shown = {"first": lines[0].pk, "after": max(line.pk for line in lines)} if lines else {}
    return urlencode({"replica": view.replica, "attempt": view.attempt, "shape": context["shape"], **shown})


def _shown(view: LogView, first: str) -> list[LogLine]:
    """Return the lines from the first one on that the page shows, one more than it may; none where that is gone."""
    line = view.lines.filter(pk=_number(first)).first()
    return list(lines_from(view.lines, line)[: MOST_SHOWN + 1]) if line is not None else []


def _redrawn(request: Request, view: LogView, context: dict[str, Any]) -> HttpResponse:
    """Draw the log's whole part anew; nothing while it is as empty as it was."""
    if request.GET.get("shape") == context["shape"] and not request.GET.get("first") and not view.lines.exists():
        return HttpResponse(status=204)
    response = render(request, "job.html#log", context | _tail(view, context))
    return reswap(retarget(response, "#log"), "outerHTML")


def _number(text: str) -> int:
    """Read a line's number; 0, which no line has, for what is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
