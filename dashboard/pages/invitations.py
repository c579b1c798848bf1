"""Invitations: a lead creates a link, shown once and e-mailed if the site sends e-mail; whoever opens it can join."""

import logging
from smtplib import SMTPException

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from dashboard.access import Request
from dashboard.access.addresses import absolute_url
from dashboard.access.confirmation import by_admin, confirmed
from dashboard.access.iap_middleware import BACKEND
from dashboard.access.loaders import parse_key, team_for
from dashboard.forms.account_forms import InviteForm, JoinForm
from dashboard.pages.parts.forbidding import forbidding
from jobs import proposals
from jobs.clock import database_now
from jobs.models import Invitation
from jobs.people import invitations
from jobs.people.members import POWERFUL, NotChanged
from jobs.permissions import role_of

log = logging.getLogger(__name__)


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(by_admin)
def invite(request: Request, pk: int) -> HttpResponse:
    """Show the open invitations of a team. On POST, create one and show its link once, or withdraw one."""
    team, now = team_for(request, pk, "manage"), database_now()
    if key := request.POST.get("withdraw"):
        with forbidding():
            invitations.withdraw(team, parse_key(key), by=request.user)
        messages.success(request, _("The invitation was withdrawn."))
        return redirect("team-invitations", team.pk)
    form, link, fate = InviteForm(request.POST if request.method == "POST" else None), "", ""
    if form.is_valid():
        try:
            with forbidding():
                row, secret = invitations.invite(team, **form.cleaned_data, by=request.user, now=now)
        except NotChanged as refusal:
            form.add_error(None, str(refusal))
        else:
            link = absolute_url(request, reverse("join", args=[secret]))
            fate, form = _send(row, link), InviteForm()
    found = invitations.open_invitations(team, now)[: invitations.MAX_OPEN]
    context = {"team": team, "form": form, "link": link, "fate": fate, "now": now, "open": found}
    return render(request, "invitations.html", context, status=422 if form.errors else 200)


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Add whoever opens the link to the team, with the signed-in account or a new one."""
    row, now = invitations.find_invitation(secret, now=database_now()), database_now()
    if row is None:
        return render(request, "join.html", {"problem": invitations.NO_LONGER}, status=410)
    form = JoinForm(request.POST if request.method == "POST" else None)
    may_create = settings.PASSWORD_SIGN_IN and form.is_valid()
    if request.method != "POST" or not (request.user.is_authenticated or may_create):
        context = {"invitation": row, "form": form}
        return render(request, "join.html", context, status=422 if form.errors else 200)
    try:
        if isinstance(request.user, User):
            proposals.accept_invitation(secret, by=request.user, now=now)
        else:
            name, password = form.cleaned_data["username"], form.cleaned_data["password1"]
            login(request, proposals.accept_invitation_as(secret, name, password, now=now), backend=BACKEND)
    except NotChanged as refusal:
        return render(request, "join.html", {"problem": str(refusal)}, status=410)
    messages.success(request, _("You are now in %(name)s.") % {"name": row.team.name})
    if row.role in POWERFUL and role_of(request.user, team_id=row.team_id) != row.role:  # type: ignore[arg-type]
        messages.info(request, _("Until a second person has accepted your role, you are an engineer."))
    return redirect("board")


def _send(row: Invitation, link: str) -> str:
    """E-mail the link. Return "sent", "failed", or "" if the site sends no e-mail."""
    if not settings.SENDS_EMAIL:
        return ""
    words = render_to_string("registration/invitation_email.txt", {"invitation": row, "link": link})
    try:
        send_mail(_("Join %(team)s on Trainboard") % {"team": row.team.name}, words, None, [row.email])
    except (SMTPException, OSError) as error:
        log.warning("an invitation could not be sent: %s", error)
        return "failed"
    return "sent"
