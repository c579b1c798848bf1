"""The answers to sign-ins that come too fast."""

import math
from datetime import datetime
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

TOO_MANY_REQUESTS = 429
BUSY_SECONDS = 2
"""After which a sign-in may be tried again that came while others were being checked."""


def locked_out(
    request: HttpRequest, _original: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Answer 429 with the moment at which sign-ins are checked again; axes calls it in place of the form's answer."""
    now: datetime = request.axes_attempt_time  # type: ignore[attr-defined]
    until = AxesProxyHandler.get_implementation().locked_until(request, credentials) or now
    name = (credentials or {}).get("username") or ""
    # That of a sign-in at a provider has a blank, which names of accounts have not, and is of no use to people.
    context = {"until": until, "wait": until - now, "name": "" if " " in name else name}
    return _refusal(request, context, seconds=math.ceil((until - now).total_seconds()))


def busy(request: HttpRequest) -> HttpResponse:
    """Answer 429 to a sign-in that came while others were being checked."""
    return _refusal(request, {}, seconds=BUSY_SECONDS)


def _refusal(request: HttpRequest, context: dict[str, Any], *, seconds: int) -> HttpResponse:
    response = render(request, "registration/too_many.html", context, status=TOO_MANY_REQUESTS)
    response["Retry-After"] = str(max(seconds, 1))
    return response
