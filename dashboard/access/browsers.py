"""Which browsers people are signed in with: recorded at sign-in, and seen again every ten minutes at most."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from dashboard.access.addresses import client_address
from jobs.people.browsers import SEEN_INTERVAL, mark_browser_seen, record_browser

MAX_REMEMBERED = 10_000
_seen: dict[str, datetime] = {}
"""When this process last marked each session; in the session itself it would make every session last longer."""


class BrowserMiddleware(MiddlewareMixin):
    """Marks the session of a request as seen; most requests cost no query for it."""

    def process_request(self, request: HttpRequest) -> None:
        """Mark the session where this process has not done so for a while."""
        key = request.session.session_key
        if not key:
            return
        now, last = timezone.now(), _seen.get(key)
        # The person is looked at last: to load who it is may cost a query.
        if (last is None or now - last > SEEN_INTERVAL) and isinstance(request.user, User):
            _remember(key, now)
            mark_browser_seen(request.user, key, **_about(request))


def connect() -> None:
    """Have sign-ins recorded; once, when the site is ready."""
    user_logged_in.connect(_record, dispatch_uid="browsers.record")


def _record(request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is None or not getattr(request, "session", None):
        return
    if request.session.session_key is None:
        request.session.create()
    _remember(request.session.session_key, timezone.now())
    record_browser(user, str(request.session.session_key), **_about(request))


def _remember(key: str | None, now: datetime) -> None:
    """Keep when a session was marked; where too many are kept, all are forgotten, which costs one write each."""
    if len(_seen) >= MAX_REMEMBERED:
        _seen.clear()
    _seen[str(key)] = now


def _about(request: HttpRequest) -> dict[str, Any]:
    browser = request.META.get("HTTP_USER_AGENT", "")
    return {"browser": browser, "address": client_address(request) or "", "now": timezone.now()}
