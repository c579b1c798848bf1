"""Sign-in with a password, and the answer when sign-ins come too fast."""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import method_decorator

from dashboard.access.sign_in import TooManySignIns
from dashboard.forms.sign_in_form import SignInForm
from dashboard.pages.parts.fragments import reload_instead

TOO_MANY_REQUESTS = 429
BUSY_SECONDS = 2
"""After which a sign-in may be tried again that came while others were being checked."""


@method_decorator(login_not_required, name="dispatch")
class SignIn(LoginView):
    """Django's sign-in; a live part whose session has ended reloads the page instead of showing a form inside it."""

    redirect_authenticated_user = True
    authentication_form = SignInForm

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer as Django does, and tell htmx to load the whole page."""
        response = super().dispatch(request, *args, **kwargs)
        return reload_instead(request, response) if isinstance(response, HttpResponse) else response


def locked_out(
    request: HttpRequest, _original: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Answer 429 with the moment at which sign-ins are checked again; axes calls it in place of the form's answer."""
    now: datetime = request.axes_attempt_time  # type: ignore[attr-defined]
    until = AxesProxyHandler.get_implementation().locked_until(request, credentials) or now
    context = {"until": until, "wait": until - now, "name": (credentials or {}).get("username") or ""}
    return _refusal(request, context, seconds=math.ceil((until - now).total_seconds()))


class BusyMiddleware:
    """Answers 429 to a sign-in that came while others were being checked."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer as ever."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer what the password backend raises; anything else goes on."""
        return _refusal(request, {}, seconds=BUSY_SECONDS) if isinstance(error, TooManySignIns) else None


def _refusal(request: HttpRequest, context: dict[str, Any], *, seconds: int) -> HttpResponse:
    response = render(request, "registration/too_many.html", context, status=TOO_MANY_REQUESTS)
    response["Retry-After"] = str(max(seconds, 1))
    return response
