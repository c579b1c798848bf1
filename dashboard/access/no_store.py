"""Middleware that keeps pages out of every cache."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin


class NoStoreMiddleware(MiddlewareMixin):
    """Forbids browsers and proxies to store any response of Django: pages, fragments, downloads, the admin.

    WhiteNoise answers static files before this middleware, so they can be cached.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:  # noqa: ARG002
        """Forbid caching (RFC 9111, 5.2.2.5 and 5.2.2.7)."""
        response["Cache-Control"] = "private, no-store"
        return response
