"""What finds jobs while somebody types: the dialog that Ctrl+K opens, and completion of the words of a search."""

from collections.abc import Iterable

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Request, teams_by_project, teams_of
from dashboard.pages.parts.history_facets import arguments, read_filters, read_form
from dashboard.queries.history import list_history, list_people
from dashboard.queries.search import complete_search

MAX_JOBS = 8
COLUMNS = ("display_name", "state", "machines")


@require_safe
def jump(request: Request) -> HttpResponse:
    """Show links to the newest jobs that match `q`, which is read as in the history; none without words."""
    filters, owners = read_filters(read_form(request.GET))
    found = arguments(filters, owners)
    jobs = list_history(request.user, MAX_JOBS, only=COLUMNS, **found).jobs if filters.is_search else []
    return render(request, "jump.html", {"jobs": jobs})


@require_safe
def complete(request: Request) -> HttpResponse:
    """Show the texts that complete the last word of `q`, as options of a search box. At most two queries."""

    def values(column: str) -> Iterable[str]:
        if column == "owner":
            return list_people(request.user)
        if column == "team":
            return [team.name for team in teams_of(request.user)]
        return teams_by_project(request.user) if column == "project" else ()

    return render(request, "completions.html", {"completions": complete_search(request.GET.get("q", ""), values)})
