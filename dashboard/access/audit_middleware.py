"""The audit log's view of requests: who makes a change, and who signs out."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_out
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dashboard.access.addresses import client_address
from jobs.people.audit import acting, record_sign_in_event

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class AuditMiddleware:
    """Sets who makes the changes of a request; it stands after all that decide who that is."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer; a request that only reads asks nobody who it is."""
        if request.method in SAFE:
            return self.get_response(request)
        user = request.user if isinstance(request.user, User) and request.user.is_authenticated else None
        with acting(user, client_address(request)):
            return self.get_response(request)


def connect() -> None:
    """Have sign-outs recorded; once, when the site is ready."""
    user_logged_out.connect(_record_sign_out, dispatch_uid="auditing.record_sign_out")


def _record_sign_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        record_sign_in_event("signed out", user, by=user, address=client_address(request))
