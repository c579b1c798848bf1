"""The ceilings of the site and its teams, with their use. Site admins set them."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from dashboard.access import Request, teams_of
from dashboard.access.confirmation import confirmed
from dashboard.forms.ceiling_form import CeilingForm
from dashboard.queries.ceilings import list_ceilings
from jobs import proposals
from jobs.clock import database_now
from jobs.errors import NotPermitted


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(lambda request: request.user.is_superuser)
def ceilings(request: Request) -> HttpResponse:
    """List the ceilings that apply to the user. On POST, a site admin sets one, or proposes to raise or remove it."""
    teams, is_admin, now = teams_of(request.user), request.user.is_superuser, database_now()
    if request.method == "POST" and not is_admin:
        raise PermissionDenied(_("Only an admin of this site sets ceilings."))
    posted = request.POST if request.method == "POST" else None
    form = CeilingForm(posted, teams=[(team.pk, team.name) for team in teams]) if is_admin else None
    if posted is not None and form is not None and form.is_valid():
        data: dict[str, Any] = form.cleaned_data
        team = next((each for each in teams if str(each.pk) == data["whose"]), None)
        try:
            waiting = proposals.propose_ceiling(
                team, data["kind"], data["amount"], by=request.user, reason=data["reason"], now=now
            )
        except (NotPermitted, ValueError) as refusal:
            form.add_error(None, str(refusal))
        else:
            if waiting is not None:
                return redirect("proposal", waiting.pk)
            messages.success(request, _("The ceiling applies now."))
            return redirect("ceilings")
    context = {"lines": list_ceilings(request.user, teams, now), "form": form, "now": now}
    return render(request, "ceilings.html", context, status=422 if form is not None and form.errors else 200)
