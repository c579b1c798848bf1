"""Saving and deleting views of the board."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from dashboard.access import Request, teams_of
from jobs import requests
from jobs.clock import database_now

MAX_NAME_LENGTH = 40
MAX_QUERY_LENGTH = 500


@require_POST
def save(request: Request) -> HttpResponse:
    """Save the posted board `query` under `name`, shared with `team` if the user is a member of it."""
    query = QueryDict(request.POST.get("query", ""), mutable=True)
    query.pop("page", None)
    text = query.urlencode()
    name = " ".join(request.POST.get("name", "").replace("\x00", "").split())
    team = next((team for team in teams_of(request.user) if str(team.pk) == request.POST.get("team")), None)
    if refusal := _refusal(name, text):
        messages.error(request, refusal)
        return HttpResponseRedirect(f"{reverse('board')}?{text}" if len(text) <= MAX_QUERY_LENGTH else reverse("board"))
    match requests.save_view(request.user, name, text, team, database_now()):
        case requests.Saved.NEW:
            messages.success(request, _("Saved the view %(name)s.") % {"name": name})
        case requests.Saved.REPLACED:
            messages.success(request, _("Replaced your view %(name)s.") % {"name": name})
        case requests.Saved.TOO_MANY:
            messages.error(request, _("You have %(limit)s views; delete one first.") % {"limit": requests.MAX_VIEWS})
    return HttpResponseRedirect(f"{reverse('board')}?{text}")


@require_POST
def delete(request: Request, pk: int) -> HttpResponse:
    """Delete one of the user's own views."""
    if requests.delete_view(request.user, pk):
        messages.success(request, _("Deleted the view."))
    else:
        messages.warning(request, _("You have no such view; it may have been deleted already."))
    return redirect("board")


def _refusal(name: str, query: str) -> str:
    """Return why a view cannot be saved, or ""."""
    if not name:
        return _("The view was not saved: it needs a name.")
    if len(name) > MAX_NAME_LENGTH:
        return _("The view was not saved: a name has at most %(limit)s characters.") % {"limit": MAX_NAME_LENGTH}
    if len(query) > MAX_QUERY_LENGTH:
        return _("The view was not saved: its search is too long.")
    return ""
