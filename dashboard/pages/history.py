"""The history: every job of the user's teams, newest first, with figures, filtered by the address."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from dashboard.access import Request
from dashboard.access.audit_middleware import record_export
from dashboard.drawing.history_charts import STEP_WORDS
from dashboard.pages.parts.csv_file import csv_lines
from dashboard.pages.parts.drawn_rows import KEY_COLUMNS, draw_history
from dashboard.pages.parts.fragments import page_or_fragment
from dashboard.pages.parts.history_facets import arguments, facets_of, label_of, read_filters, read_form
from dashboard.pages.parts.history_rows import COLUMNS, as_record
from dashboard.queries.history import MAX_SEARCHED, iterate_history, list_history
from dashboard.queries.history_figures import HistoryFigures, get_history_figures
from dashboard.queries.history_filters import FACETS
from dashboard.queries.paging import parse_cursor
from jobs.clock import display_now
from jobs.models import Job

PAGE_SIZE = 50
DIMENSIONS = {
    "strategy": _("strategy"),
    "accelerator": _("accelerator"),
    "region": _("region"),
    "owner": _("person"),
}


@require_safe
def history(request: Request) -> HttpResponse:
    """Show one page of the history with figures of ended jobs. `of` in the address is the facet of the table."""
    now, form = display_now(), read_form(request.GET)
    filters, owners = read_filters(form)
    of = request.GET.get("of", "")
    of = of if of in DIMENSIONS else next(iter(DIMENSIONS))
    figures = get_history_figures(request.user, filters, of, now)
    after = parse_cursor(request.GET.get("before", ""))
    page = list_history(request.user, PAGE_SIZE, after=after, only=KEY_COLUMNS, **arguments(filters, owners))
    context = figures_context(figures, of) | {
        "now": now,
        "form": form,
        "has_figures": bool(figures.total.jobs and not filters.is_search),  # figures ignore the search
        "facets": partial(facets_of, figures, filters),
        "chosen": {facet: sorted(filters.values(facet)) for facet in FACETS},
        "page": page,
        "rows": draw_history(request.user, page.jobs, now),
        "max_searched": f"{MAX_SEARCHED:,}",
        "is_filtered": any(value for name, value in form.cleaned_data.items() if name != "by"),
    }
    return page_or_fragment(request, "history.html", "results", context)


def figures_context(figures: HistoryFigures, of: str) -> dict[str, Any]:
    """Return the context of the charts. Waits, preemptions and the table are grouped by the facet `of`.

    `drawn_from` is the cache key of charts and tables: users for whom it is equal share one rendering.
    """
    return {
        "figures": figures,
        "of": of,
        "of_word": DIMENSIONS[of],
        "step_word": STEP_WORDS[figures.step],
        "dimensions": list(DIMENSIONS.items()),
        "labels": {value: label_of(of, value) for value in figures.groups},
        "drawn_from": f"{figures.version} {of} {get_language()}",
    }


@require_safe
def history_csv(request: Request) -> StreamingHttpResponse:
    """Stream every job that matches the filters as CSV."""
    records = _records(request)
    record_export(request, "history.csv", request.user)
    lines = csv_lines(COLUMNS, (list(record.values()) for record in records))
    return _file(lines, "history.csv", "text/csv; charset=utf-8")


@require_safe
def history_json(request: Request) -> StreamingHttpResponse:
    """Stream every job that matches the filters as a JSON array with one job per line."""
    records = _records(request)
    record_export(request, "history.json", request.user)
    return _file(_json_lines(records), "history.json", "application/json")


def _json_lines(records: Iterator[dict[str, Any]]) -> Iterator[str]:
    before = "[\n"
    for record in records:
        yield before + json.dumps(record, ensure_ascii=False, default=str)
        before = ",\n"
    yield "\n]\n" if before == ",\n" else "[]\n"


def _records(request: Request) -> Iterator[dict[str, Any]]:
    now, form = display_now(), read_form(request.GET)
    found: Iterator[Job] = iterate_history(request.user, **arguments(*read_filters(form)))
    return (as_record(job, now) for job in found)


def _file(lines: Iterator[str], name: str, content_type: str) -> StreamingHttpResponse:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=content_type, headers=disposition)
