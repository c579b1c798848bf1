"""Sign-in at an OpenID Connect provider, and links between accounts and providers."""

import logging

from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.access import Request, confirmation, openid
from dashboard.access.addresses import absolute_url, client_address, safe_path
from dashboard.access.iap_middleware import BACKEND
from dashboard.access.loaders import parse_key
from dashboard.access.one_time_links import find_person
from dashboard.access.pending_links import PendingLink, find_pending, forget_pending, keep_pending
from dashboard.forms.sign_in_form import LinkForm
from dashboard.pages.parts.too_many import locked_out
from dashboard.sign_in_providers import Provider
from jobs.clock import database_now
from jobs.people.audit import acting, record_sign_in_event
from jobs.people.identities import Claims, NotAdmitted, PasswordNeeded, find_user, record_sign_in
from jobs.people.members import NotChanged
from jobs.people.provider_links import add_link, is_linked, remove_link

log = logging.getLogger(__name__)
NEXT = "provider_next"
"""Session key of the page to open after the sign-in."""
CANCELLED = _("You were not signed in: the sign-in at %(name)s was cancelled or refused.")
DOWN = _("%(name)s is not responding correctly. Try again in a minute, or sign in another way.")
NOT_OURS = _(
    "The provider's answer does not belong to a sign-in that this browser began in the last hour, or its signature is "
    "not valid. Start again on the sign-in page."
)


@login_not_required
@require_GET
def begin(request: HttpRequest, key: str) -> HttpResponse:
    """Redirect to the provider. A signed-in user links the provider to their account."""
    provider = _provider(key)
    try:
        path = reverse("provider-callback", args=[provider.key])
        answer = openid.begin(request, provider, redirect_uri=absolute_url(request, path))
    except openid.ProviderDown as reason:
        return _down(request, provider, reason)
    request.session[NEXT] = safe_path(request, request.GET.get("next", ""))
    return answer


@login_not_required
@require_GET
def callback(request: HttpRequest, key: str) -> HttpResponse:
    """Sign in the user whom the provider sends back, or ask whether the two accounts belong together."""
    provider = _provider(key)
    attempt = {"username": f"{provider.key} {request.session.get(openid.VISIT, '-')}", "provider": provider.key}
    if not AxesProxyHandler.is_allowed(request, attempt):
        return locked_out(request, None, attempt)
    try:
        claims = openid.finish(request, provider)
    except openid.Cancelled:
        return _refusal(request, CANCELLED % {"name": provider.name}, status=200)
    except openid.ProviderDown as reason:
        return _down(request, provider, reason)
    except openid.NotSignedIn as reason:
        log.warning("refused a sign-in through %s: %s", provider.key, reason)
        user_login_failed.send(__name__, credentials=attempt, request=request)
        return _refusal(request, str(NOT_OURS), status=400)
    if isinstance(request.user, User):
        if is_linked(request.user, claims):  # the person signs in again, to confirm who they are
            confirmation.confirm(request)
            openid.forget(request)
            return redirect(safe_path(request, request.session.pop(NEXT, "")))
        return _ask(request, provider, claims, request.user)
    return _admit(request, provider, claims, attempt)


@login_not_required
@confirmation.confirmed(lambda request: request.user.is_authenticated)
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask whether to link a provider. A user who is not signed in enters the password of the account."""
    pending = find_pending(request, now=database_now())
    if pending is None:
        return _refusal(request, str(_("This link request has expired. Start again on the sign-in page.")), status=410)
    form = LinkForm(request.POST if request.method == "POST" else None, is_signed_in=request.user.is_authenticated)
    if request.method == "POST" and form.is_valid() and _is_owner(request, pending, form):
        return _link(request, pending)
    context = {"pending": pending, "form": form}
    return render(request, "registration/link.html", context, status=422 if form.errors else 200)


@require_POST
def remove(request: Request) -> HttpResponse:
    """Remove a provider link from the user's account."""
    providers = {each.issuer for each in settings.SIGN_IN_PROVIDERS}
    has_password = settings.PASSWORD_SIGN_IN and request.user.has_usable_password()
    key = parse_key(request.POST.get("link", ""))
    try:
        remove_link(request.user, key, providers=providers, has_password=has_password)
    except NotChanged as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The link is removed."))
    return redirect("account")


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def once(request: HttpRequest, secret: str) -> HttpResponse:
    """Sign in the user of a link made by `manage.py sign_in_link`."""
    person = find_person(secret)
    if person is None:
        return _refusal(request, str(_("This link has been used or has expired.")), status=410)
    if request.method != "POST":
        return render(request, "registration/once.html", {"person": person})
    log.warning("%s signs in with a link from manage.py", person.get_username())
    login(request, person, backend=BACKEND)
    record_sign_in_event("by a link from manage.py", person, by=person, address=client_address(request))
    return redirect("board")


def _provider(key: str) -> Provider:
    provider = openid.find_provider(key)
    if provider is None:
        raise Http404("no such provider")
    return provider


def _admit(request: HttpRequest, provider: Provider, claims: Claims, attempt: dict[str, str]) -> HttpResponse:
    """Sign in the user of the claims, refuse, or ask for the password of the account that has their address."""
    try:
        with acting(None, client_address(request)):
            user = find_user(claims, now=database_now())
    except PasswordNeeded as needed:
        return _ask(request, provider, claims, needed.user)
    except NotAdmitted as reason:
        log.info("%s knows somebody who is not admitted: %s", provider.key, type(reason).__name__)
        user_login_failed.send(__name__, credentials=attempt, request=request)
        return _refusal(request, str(reason), status=403)
    return _let_in(request, user, claims)


def _ask(request: HttpRequest, provider: Provider, claims: Claims, user: User) -> HttpResponse:
    keep_pending(request, provider, claims, user, now=database_now())
    return redirect("provider-confirm")


def _is_owner(request: HttpRequest, pending: PendingLink, form: LinkForm) -> bool:
    """Return whether the user may link the account: they are signed in to it, or they enter its password."""
    if request.user.is_authenticated:
        return True
    name, password = pending.user.get_username(), form.cleaned_data["password"]
    user = authenticate(request, username=name, password=password, confirms_link=True)
    if user is None or user.pk != pending.user.pk:
        form.add_error("password", _("This is not the password of the account."))
        return False
    return True


def _link(request: HttpRequest, pending: PendingLink) -> HttpResponse:
    forget_pending(request)
    try:
        with acting(pending.user, client_address(request)):
            add_link(pending.user, pending.claims, now=database_now())
    except NotChanged as refusal:
        return _refusal(request, str(refusal), status=409)
    messages.success(
        request, _("%(name)s is linked: you can sign in with it from now on.") % {"name": pending.provider.name}
    )
    if request.user.is_authenticated:
        openid.forget(request)
        return redirect("account")
    return _let_in(request, pending.user, pending.claims)


def _let_in(request: HttpRequest, user: User, claims: Claims) -> HttpResponse:
    """Sign in with a new session key and redirect to the page that was asked for."""
    with acting(user, client_address(request)):
        record_sign_in(claims, now=database_now())
    wanted = safe_path(request, request.session.pop(NEXT, ""))
    login(request, user, backend=BACKEND)
    return redirect(wanted)


def _down(request: HttpRequest, provider: Provider, reason: Exception) -> HttpResponse:
    log.error("nobody can sign in through %s: %s", provider.key, reason)
    why = DOWN % {"name": provider.name}
    return _refusal(request, why, status=503)


def _refusal(request: HttpRequest, why: str, *, status: int) -> HttpResponse:
    return render(request, "registration/refused.html", {"why": why, "leads_back": True}, status=status)
