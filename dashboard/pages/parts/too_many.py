"""Responses to sign-ins that come too fast."""

import math
from datetime import datetime
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.access.bounded_work import TooMuchWork

TOO_MANY_REQUESTS = 429
BUSY_SECONDS = 2
"""Seconds until a sign-in may be repeated that came while others were being checked."""


def locked_out(
    request: HttpRequest, _original: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Return 429 with the time at which sign-ins are accepted again. axes calls it to replace the form's response."""
    now: datetime = request.axes_attempt_time  # type: ignore[attr-defined]
    until = AxesProxyHandler.get_implementation().locked_until(request, credentials) or now
    name = (credentials or {}).get("username") or ""
    # The name of a sign-in at a provider contains a space, unlike names of accounts, and means nothing to people.
    context = {"until": until, "wait": until - now, "name": "" if " " in name else name}
    return _refusal(request, context, seconds=math.ceil((until - now).total_seconds()))


def busy(request: HttpRequest) -> HttpResponse:
    """Return 429 for a sign-in that came while others were being checked."""
    return _refusal(request, {}, seconds=BUSY_SECONDS)


def too_much_work(request: HttpRequest, error: TooMuchWork) -> HttpResponse:
    """Return 429 for an import or assessment above a limit: a page, or a line of text for a request by htmx."""
    if request.htmx:  # type: ignore[attr-defined]
        response = HttpResponse(str(error), status=TOO_MANY_REQUESTS, content_type="text/plain; charset=utf-8")
    else:
        response = render(request, "too_much_work.html", {"problem": str(error)}, status=TOO_MANY_REQUESTS)
    response["Retry-After"] = str(error.seconds)
    return response


def _refusal(request: HttpRequest, context: dict[str, Any], *, seconds: int) -> HttpResponse:
    response = render(request, "registration/too_many.html", context, status=TOO_MANY_REQUESTS)
    response["Retry-After"] = str(max(seconds, 1))
    return response
