"""Changes of settings that give power over money: see them, and accept, decline or withdraw them."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Request
from dashboard.access.confirmation import confirmed
from dashboard.queries.proposals import get_proposal, list_proposals
from jobs.clock import database_now
from jobs.errors import NotPermitted
from jobs.proposals import decide

MADE = {"accept": "accepted", "decline": "declined", "withdraw": "withdrawn"}


@require_safe
def proposals(request: Request) -> HttpResponse:
    """List the changes of the user's teams that wait for a second person, and those that were decided."""
    waiting, decided = list_proposals(request.user)
    return render(request, "proposals.html", {"waiting": waiting, "decided": decided, "now": database_now()})


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(lambda request, **_: request.POST.get("do") == "accept")
def proposal(request: Request, pk: int) -> HttpResponse:
    """Show one change with its difference. On POST, accept, decline or withdraw it."""
    shown, now = get_proposal(request.user, pk), database_now()
    if request.method != "POST":
        return render(request, "proposal.html", {"shown": shown, "row": shown.row, "now": now})
    if (decision := MADE.get(request.POST.get("do", ""))) is None:
        raise Http404("no such decision")
    try:
        done = decide(pk, decision, by=request.user, comment=request.POST.get("comment", ""), now=now)
    except NotPermitted as refusal:
        raise PermissionDenied(str(refusal)) from None
    except ValueError as refusal:
        messages.error(request, str(refusal))
        return redirect("proposal", pk)
    if done is None:
        messages.warning(request, _("It was decided before."))
    else:
        words = {
            "accepted": _("Accepted: it applies now."),
            "declined": _("Declined: nothing has changed."),
            "withdrawn": _("Withdrawn: nothing has changed."),
        }
        messages.success(request, words[decision])
    return redirect("proposals")
