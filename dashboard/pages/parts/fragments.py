"""Rendering of a whole page or one part of it. No other module reads `request.htmx`."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from dashboard.access import Request

VERSION_HEADER = "X-Shown-Version"
"""Header in which a polled live part sends the version that it shows."""

SHOWN = ("as", "zoom", "metric")
"""Parameters of a job's address that select what its live part shows."""


def wants_part(request: Request) -> bool:
    """Return whether the browser will swap the response into the page that it shows."""
    # htmx also fetches whole pages: for links with hx-boost, and for pages missing from its history cache.
    return bool(request.htmx) and not request.htmx.boosted and not request.htmx.history_restore_request


def page_or_fragment(request: Request, template: str, part: str, context: dict[str, Any]) -> HttpResponse:
    """Render the whole page, or only its partial `part` for htmx, with the same context."""
    name = f"{template}#{part}" if wants_part(request) else template
    response = render(request, name, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def live_page(
    request: Request, template: str, part: str, version: str, context: Callable[[], dict[str, Any]]
) -> HttpResponse:
    """Render like `page_or_fragment`, but return 204 without calling `context` if the browser shows `version`.

    The element of `part` sends its version: hx-headers='{"X-Shown-Version": "{{ version }}"}'.
    """
    if wants_part(request) and is_shown(request, version):
        return HttpResponse(status=204)
    return page_or_fragment(request, template, part, context() | {"version": version})


def page_query(request: Request) -> QueryDict:
    """Return the query of the page's address, updated with that of this request if htmx asks for a part."""
    address = urlsplit(request.htmx.current_url or "") if request.htmx else None
    found = QueryDict(address.query if address is not None else "", mutable=True)
    for name, values in request.GET.lists():
        found.setlist(name, values)
    return found


def is_shown(request: Request, version: str) -> bool:
    """Return whether the live part that sends the request shows this version already."""
    return request.headers.get(VERSION_HEADER) == version


def version_of(*parts: object) -> str:
    """Return a short hash that differs if any part differs. Different parts need a different repr."""
    return sha256(repr(parts).encode()).hexdigest()[:20]


def reload_instead(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Make htmx load the whole page if `response` must not be swapped into a part of the old one."""
    if getattr(request, "htmx", False):
        response["HX-Refresh"] = "true"
    return response
