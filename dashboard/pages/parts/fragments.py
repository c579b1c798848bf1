"""Whole page or one part of it: the only module that looks at `request.htmx`."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from dashboard.access import Request


def wants_part(request: Request) -> bool:
    """Tell whether the browser will swap the answer into a page that it already shows."""
    return bool(request.htmx) and not request.htmx.boosted and not request.htmx.history_restore_request


def page_or_fragment(
    request: Request, template: str, part: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render the whole page, or only its partial `part` for htmx; the same context serves both."""
    name = f"{template}#{part}" if wants_part(request) else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def reload_instead(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Make htmx load the whole page when `response` must not be swapped into a part of the old one."""
    if getattr(request, "htmx", False):
        response["HX-Refresh"] = "true"
    return response
