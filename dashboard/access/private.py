"""Middleware that keeps pages out of every cache."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase


class NoStoreMiddleware:
    """Forbid browsers and proxies to keep any answer of Django: pages, fragments, downloads, the administration.

    Static files are answered by WhiteNoise before this, and stay cacheable.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and forbid caching (RFC 9111, 5.2.2.5 and 5.2.2.7)."""
        response = self.get_response(request)
        response["Cache-Control"] = "private, no-store"
        return response
