"""People of the site, for its admins: accounts, password links and the rules of first sign-ins."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.access import Request, teams_of
from dashboard.access.confirmation import confirmed
from dashboard.access.loaders import parse_key
from dashboard.forms.account_forms import RuleForm
from dashboard.pages.parts.team_choice import team_choices
from dashboard.queries.api_tokens import list_all_tokens
from dashboard.queries.teams import find_person, list_people, list_rules
from jobs.clock import database_now
from jobs.people import accounts
from jobs.people.members import NotChanged
from jobs.requests.api_tokens import revoke_token_of_other

DONE = {
    "activate": _("%(name)s can sign in again."),
    "deactivate": _("%(name)s can no longer sign in."),
    "make_admin": _("%(name)s is now an admin of the site."),
    "remove_admin": _("%(name)s is no longer an admin."),
    "link": _("The next sign-in with the e-mail address of %(name)s takes the account over."),
}


@require_safe
def people(request: Request) -> HttpResponse:
    """List the accounts by name, and the rules."""
    _check_admin(request)
    return _page(request)


@require_POST
@confirmed(lambda request, **_: request.POST.get("do") != "deactivate")
def change_person(request: Request, pk: int) -> HttpResponse:
    """Change an account, or create a link with which its owner sets a password. The link is shown once."""
    _check_admin(request)
    if (user := find_person(pk)) is None:
        raise Http404("no such account")
    do = request.POST.get("do", "")
    if do == "password" and settings.PASSWORD_SIGN_IN:
        key, token = urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)
        link = request.build_absolute_uri(reverse("password_reset_confirm", args=[key, token]))
        return _page(request, {"link": link, "link_of": user})
    try:
        accounts.change_account(pk, do, by=request.user)
    except NotChanged as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, DONE[do] % {"name": user.get_username()})
    return redirect("people")


@require_POST
@confirmed()
def change_rules(request: Request) -> HttpResponse:
    """Add or remove a rule of first sign-ins."""
    _check_admin(request)
    if key := request.POST.get("remove"):
        accounts.remove_rule(parse_key(key), by=request.user)
        messages.success(request, _("The rule was removed. People who joined by it stay members."))
        return redirect("people")
    form = RuleForm(request.POST, teams=team_choices(teams_of(request.user)))
    if form.is_valid():
        values = form.cleaned_data
        team = next(each for each in teams_of(request.user) if str(each.pk) == values["team"])
        try:
            accounts.add_rule(values["source"], values["value"], team, values["role"], by=request.user)
        except NotChanged as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("The rule was added. It applies to people who sign in for the first time."))
            return redirect("people")
    return _page(request, {"form": form}, status=422)


@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: Request) -> HttpResponse:
    """List everybody's valid tokens. On POST, revoke one."""
    _check_admin(request)
    now = database_now()
    if request.method == "POST":
        token = revoke_token_of_other(request.user, parse_key(request.POST.get("revoke", "")), now=now)
        if token is None:
            raise Http404("no such token")
        words = _("Revoked the token %(name)s of %(person)s.")
        messages.success(request, words % {"name": token.name, "person": token.owner.get_username()})
        return redirect("people-tokens")
    search, before = request.GET.get("q", "")[:100].strip(), request.GET.get("before", "")
    found, older = list_all_tokens(now, search=search, before=parse_key(before) if before else None)
    return render(request, "people_tokens.html", {"tokens": found, "next": older, "search": search, "now": now})


def _check_admin(request: Request) -> None:
    if not request.user.is_superuser:
        raise PermissionDenied(_("The people of the site are for its admins."))


def _page(request: Request, more: dict[str, Any] | None = None, *, status: int = 200) -> HttpResponse:
    search = request.GET.get("q", "")[:100].strip()
    found, older = list_people(search, after=request.GET.get("after", "")[:150])
    form = RuleForm(teams=team_choices(teams_of(request.user)))
    context = {"people": found, "next": older, "search": search, "rules": list_rules(), "form": form}
    return render(request, "people.html", context | (more or {}), status=status)
