"""Record the author of each change, and sign-outs, for the audit log."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_out
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dashboard.access.addresses import client_address
from dashboard.access.roles import Request
from jobs.people.audit import acting, record_act, record_sign_in_event

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class AuditMiddleware:
    """Sets the author of the changes that a request makes. It comes after all middleware that identifies the user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response. A request that only reads does not load the user."""
        if request.method in SAFE:
            return self.get_response(request)
        user = request.user if isinstance(request.user, User) and request.user.is_authenticated else None
        with acting(user, client_address(request)):
            return self.get_response(request)


def record_export(request: Request, name: str, about: Model) -> None:
    """Record that the person has got a file with data about a team, or about all that they see if `about` is them.

    A request that reads has no author otherwise.
    """
    with acting(request.user, client_address(request)):
        record_act("export", name, about)


def connect() -> None:
    """Connect the signal that records sign-outs. Called once, when the site is ready."""
    user_logged_out.connect(_record_sign_out, dispatch_uid="auditing.record_sign_out")


def _record_sign_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        record_sign_in_event("signed out", user, by=user, address=client_address(request))
