"""Middleware that names the author of a change for the audit log."""

from collections.abc import Callable

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dashboard.access.addresses import client_address
from jobs.people.audit import acting

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class AuditMiddleware:
    """Says who makes the changes of a request; it stands after all that decide who that is."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer; a request that only reads asks nobody who it is."""
        if request.method in SAFE:
            return self.get_response(request)
        user = request.user if isinstance(request.user, User) and request.user.is_authenticated else None
        with acting(user, client_address(request)):
            return self.get_response(request)
