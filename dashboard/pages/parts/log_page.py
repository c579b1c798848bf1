"""The log part of a page: its newest lines, or those around one, the filters, and the cursor for new lines."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils.html import escape
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from dashboard.access import Request
from dashboard.drawing.terminal import MAX_CHARACTERS
from dashboard.pages.parts.log_command import command_of
from dashboard.pages.parts.log_view import LOOKS, LogView
from dashboard.queries.logs import get_failing_log_feed, get_line_before, list_lines_around, list_newest_lines
from jobs import observation, timeline
from jobs.models import Job, JobEvent, LogLine

TAIL_LINES = 200
MAX_PAGE_BYTES = 50_000
"""Maximum size of all messages on a page, so that it stays below 150 kB. The download has all of them."""


def log_context(
    request: Request,
    job: Job,
    now: datetime,
    events: Iterable[JobEvent],
    tries: timeline.Attempts | None = None,
    replicas: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the context of the log part with its newest lines, and have a worker read the log.

    `tries` and `replicas` as for `LogView`.
    """
    view, context = load_log(request, job, now, events, tries, replicas)
    return context | newest_lines(view, context)


def load_log(
    request: Request,
    job: Job,
    now: datetime,
    events: Iterable[JobEvent],
    tries: timeline.Attempts | None = None,
    replicas: Iterable[str] | None = None,
) -> tuple[LogView, dict[str, Any]]:
    """Return the log selected by the address and the context around its lines, and have a worker read the log."""
    observation.follow_log(job, now=now)
    view = LogView(job, events, now, request.GET.dict(), tries, replicas)
    may_grow, failing_feed = may_log_grow(job), get_failing_log_feed(job)
    return view, {
        "now": now,
        "job": job,
        "log": view,
        "chosen": urlencode(view.chosen),
        "toggles": toggles_of(view),
        "may_grow": may_grow,
        "follows": may_grow and request.GET.get("follow") != "no" and view.middle is None,
        "failing_feed": failing_feed,
        "shape": f"{view.shape}{may_grow:d}{bool(failing_feed):d}",
        "tail_lines": TAIL_LINES,
        "command": command_of(job, replica=view.replica, since=view.since, until=view.until),
    }


def may_log_grow(job: Job) -> bool:
    """Return whether more lines may follow."""
    return not (job.is_finished and (job.log_complete or not job.remote_name))


def newest_lines(view: LogView, context: dict[str, Any]) -> dict[str, Any]:
    """Return the newest lines with their headings, whether older ones are left out, and the cursor for new ones."""
    if view.middle is not None:
        lines = list_lines_around(view.lines, view.middle, TAIL_LINES)
        before = get_line_before(view.lines, lines[0])
    else:
        lines = list_newest_lines(view.lines, TAIL_LINES + 1)
        before = lines.pop(0) if len(lines) > TAIL_LINES else None
        before, lines = _that_fit(lines, before)
    return {
        "entries": view.entries(lines, before),
        "is_cut": before is not None,
        "cursor": cursor_of(view, context, lines),
    }


def _that_fit(lines: list[LogLine], before: LogLine | None) -> tuple[LogLine | None, list[LogLine]]:
    """Leave out the oldest lines if all together are too long for a page, but keep at least one."""
    room = MAX_PAGE_BYTES
    for place in range(len(lines) - 1, -1, -1):
        # Count the escaped text that is sent: "&" takes five bytes.
        room -= len(escape(lines[place].message[:MAX_CHARACTERS]).encode(errors="replace"))
        if room < 0 and place < len(lines) - 1:
            return lines[place], lines[place + 1 :]
    return before, lines


def toggles_of(view: LogView) -> list[tuple[str, str]]:
    """Return links that toggle how the log looks: (label, query of the address)."""
    labels = {"wrap": (_("Do not wrap"), _("Wrap")), "height": (_("Full height"), _("Less height"))}
    found = []
    for name, (label, undo) in labels.items():
        is_on = name in view.looks
        others = {key: value for key, value in view.chosen.items() if key != name}
        found.append((undo if is_on else label, urlencode(others if is_on else others | {name: LOOKS[name]})))
    return found


def cursor_of(view: LogView, context: dict[str, Any], lines: list[LogLine]) -> str:
    """Return the parameters with which the next request for new lines describes the lines that are shown."""
    shown = {"first": lines[0].pk, "after": max(line.pk for line in lines)} if lines else {}
    return urlencode(view.chosen | {"shape": context["shape"], **shown})
