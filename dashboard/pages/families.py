"""Runs as families: all runs of a family in a table with their curves, what changed last, and moving runs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Request, can, jobs_for
from dashboard.access.audit_middleware import record_export
from dashboard.access.loaders import parse_uuid
from dashboard.pages.parts.csv_file import csv_lines
from dashboard.pages.parts.family_chart import chart_part
from dashboard.pages.parts.family_table import SIGN_WORDS, choices_of, heads_of, read_look, rows_of, shown_settings
from dashboard.pages.parts.forbidding import forbidding
from dashboard.pages.parts.history_rows import COLUMNS, as_record
from dashboard.queries.families import (
    MAX_PAGES,
    Known,
    Look,
    Totals,
    best_of,
    get_known,
    get_totals,
    iterate_members,
    list_members,
)
from dashboard.queries.history import list_history
from jobs.bounds import parse_digits
from jobs.clock import database_now, display_now
from jobs.models import Job
from jobs.requests.families import MAX_MOVED, move_to_family

MAX_CHOICES = 60
"""Recent jobs in the menu of families to join."""


@require_safe
def family(request: Request, pk: UUID) -> HttpResponse:
    """Show the runs of a family.

    `sort`, `where`, `sign`, `value` and `page` order, filter and page the table. `metric` is the one by which the best
    run is shown and whose curves are drawn, `by=time` draws them over time, and `job`, repeated, names the runs drawn.
    """
    totals, known = _load(request, pk)
    now, look = display_now(), read_look(request.GET, known)
    page = min(max(parse_digits(request.GET.get("page", "")) or 1, 1), MAX_PAGES)
    members, has_next = list_members(request.user, pk, look, page)
    chart = chart_part(request, pk, known)
    settings, newest, metric = shown_settings(known, look), chart["newest"], chart["metric"]
    context = chart | {
        "now": now, "family": pk, "totals": totals, "name": known.name, "metrics": known.metrics,
        "look": look, "heads": heads_of(look, settings, metric), "choices": choices_of(known),
        "signs": SIGN_WORDS.items(), "page": page, "has_next": has_next and page < MAX_PAGES,
        "rows": rows_of(members, now, settings, metric, chart["numbers"], chart["best"]),
        "may_move": can(request.user, "request", newest.team),
    }  # fmt: skip
    return render(request, "family.html", context)


def _load(request: Request, pk: UUID) -> tuple[Totals, Known]:
    """Return what is known of a family. Raise Http404 if the person sees no run of it."""
    totals = get_totals(request.user, pk)
    if totals is None:
        raise Http404("no such family")
    return totals, get_known(request.user, pk)


@require_safe
def family_csv(request: Request, pk: UUID) -> StreamingHttpResponse:
    """Stream the runs in the order and with the filter of the address as CSV, with every setting and metric."""
    _totals, known = _load(request, pk)
    look, now = read_look(request.GET, known), display_now()
    record_export(request, f"family-{pk}.csv", request.user)
    head = [*COLUMNS, *(f"setting {name}" for name in known.settings), *(f"metric {name}" for name in known.metrics)]
    lines = csv_lines(head, _records(request, pk, known, look, now))
    disposition = {"Content-Disposition": f'attachment; filename="family-{pk}.csv"'}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=disposition)


def _records(request: Request, pk: UUID, known: Known, look: Look, now: datetime) -> Iterator[list[object]]:
    for job in iterate_members(request.user, pk, look):
        summary = getattr(job, "run_summary", None)
        settings = summary.settings if summary is not None else {}
        values = [*(settings.get(name) for name in known.settings), *(best_of(job, name) for name in known.metrics)]
        yield [*as_record(job, now).values(), *values]


@require_http_methods(["GET", "HEAD", "POST"])
def move(request: Request, pk: UUID) -> HttpResponse:
    """Show the chosen runs of a family and where they can go. On POST, move them: out of the family if `to` is empty.

    `to` is a job whose family they join.
    """
    named = request.POST if request.method == "POST" else request.GET
    totals, known = _load(request, pk)
    keys = list(dict.fromkeys(parse_uuid(key) for key in named.getlist("job")))[:MAX_MOVED]
    newest, *jobs = jobs_for(request, [known.latest[0], *keys])
    jobs = [job for job in jobs if job.family == pk]
    if not can(request.user, "request", newest.team):
        raise PermissionDenied(_("Your role in this team lets you look at its jobs; an engineer may move them."))
    if not jobs:
        messages.warning(request, _("Select the runs to move first."))
        return redirect("family", pk)
    if request.method == "POST":
        return _move(request, jobs, stay=pk if len(jobs) < totals.runs else None)
    recent = list_history(request.user, MAX_CHOICES).jobs
    choices = [job for job in recent if job.family not in (None, pk) and job.team_id == newest.team_id]
    return render(request, "family_move.html", {"family": pk, "jobs": jobs, "choices": choices})


def _move(request: Request, jobs: Sequence[Job], stay: UUID | None) -> HttpResponse:
    """Move runs, and show their new family, or for new ones `stay`, the family that they left, if it has runs still."""
    target = None
    if to := request.POST.get("to"):
        target = jobs_for(request, [parse_uuid(to)])[0].family
        if target is None:
            raise Http404("a job that is in no family yet")
    with forbidding():
        count = move_to_family(jobs, target, by=request.user, now=database_now())
    words = ngettext("Moved %(number)s run.", "Moved %(number)s runs.", count)
    messages.success(request, words % {"number": count})
    shown = target or stay
    return redirect("family", shown) if shown is not None else redirect("job", jobs[0].pk)
