"""Personal API tokens: list them, create one and show it once, revoke one."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Request
from dashboard.access.confirmation import confirmed
from dashboard.access.loaders import parse_key
from dashboard.forms.token_form import TokenForm
from dashboard.queries.api_tokens import list_tokens
from jobs.clock import database_now
from jobs.errors import NotPermitted
from jobs.requests.api_tokens import create_token, revoke_token


@require_http_methods(["GET", "HEAD", "POST"])
@confirmed()
@sensitive_variables("text")
def api_tokens(request: Request) -> HttpResponse:
    """Show the user's tokens. On POST, create one and show its text once."""
    if request.method != "POST":
        return render(request, "api_tokens.html", _context(request, TokenForm()))
    form = TokenForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            token, text = create_token(
                request.user, name=data["name"], scopes=data["scopes"], lifetime=form.lifetime, now=database_now()
            )
        except NotPermitted as refusal:
            form.add_error(None, str(refusal))
        else:
            return render(request, "api_tokens.html", _context(request, TokenForm()) | {"made": token, "text": text})
    return render(request, "api_tokens.html", _context(request, form), status=422)


@require_POST
def revoke(request: Request, pk: str) -> HttpResponse:
    """Revoke one of the user's own tokens. Raise Http404 for any other token."""
    token = revoke_token(request.user, parse_key(pk), now=database_now())
    if token is None:
        raise Http404("no such token")
    messages.success(request, _("Revoked the token %(name)s.") % {"name": token.name})
    return redirect("api-tokens")


def _context(request: Request, form: TokenForm) -> dict[str, Any]:
    now = database_now()
    address = request.build_absolute_uri(reverse("board")).rstrip("/")  # paths such as /api/v1/jobs are added to it
    return {"now": now, "form": form, "lines": list_tokens(request.user, now), "address": address}
