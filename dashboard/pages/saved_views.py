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
    query = QueryDict(request.POST.get("query", "")[:MAX_QUERY_LENGTH], mutable=True)
    query.pop("page", None)
    text = query.urlencode()
    name = " ".join(request.POST.get("name", "").replace("\x00", "").split())[:MAX_NAME_LENGTH]
    team = next((team for team in teams_of(request.user) if str(team.pk) == request.POST.get("team")), None)
    if not name or len(text) > MAX_QUERY_LENGTH:
        messages.error(request, _("The view was not saved: it needs a name, and a shorter search."))
    elif requests.save_view(request.user, name, text, team, database_now()):
        messages.success(request, _("Saved the view %(name)s.") % {"name": name})
    else:
        messages.error(request, _("You have %(limit)s views; delete one first.") % {"limit": requests.MAX_VIEWS})
    return HttpResponseRedirect(f"{reverse('board')}?{text}")


@require_POST
def delete(request: Request, pk: int) -> HttpResponse:
    """Delete one of the user's own views."""
    requests.delete_view(request.user, pk)
    return redirect("board")
