"""The jobs in the dialog that Ctrl+K opens. Its pages are the links of the navigation."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Request
from dashboard.pages.parts.history_facets import arguments, read_filters, read_form
from dashboard.queries.history import list_history

MAX_JOBS = 8
COLUMNS = ("display_name", "state", "machines")


@require_safe
def jump(request: Request) -> HttpResponse:
    """Show links to the newest jobs that match `q`, which is read as in the history; none without words."""
    filters, owners = read_filters(read_form(request.GET))
    found = arguments(filters, owners)
    jobs = list_history(request.user, MAX_JOBS, only=COLUMNS, **found).jobs if filters.is_search else []
    return render(request, "jump.html", {"jobs": jobs})
