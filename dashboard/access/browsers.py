"""Browsers in which people are signed in. Each is recorded at sign-in and marked as seen every ten minutes at most.

A session that was not seen for TRAINBOARD_SESSION_IDLE_HOURS ends. Behind Identity-Aware Proxy the proxy decides that.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from dashboard.access.addresses import client_address
from jobs.people.browsers import SEEN_INTERVAL, last_seen, mark_browser_seen, record_browser

MAX_REMEMBERED = 10_000
_seen: dict[str, datetime] = {}
"""When this process last marked each session. Storing it in the session would extend the lifetime of every session."""


class BrowserMiddleware(MiddlewareMixin):
    """Marks the session of a request as seen, or ends it. Most requests need no query for this."""

    def process_request(self, request: HttpRequest) -> None:
        """Mark the session if this process has not done so recently; end it if it was not used for too long."""
        key = request.session.session_key
        if not key:
            return
        now, last = timezone.now(), _seen.get(key)
        # The user is checked last, because loading it may cost a query.
        if (last is None or now - last > SEEN_INTERVAL) and isinstance(request.user, User):
            seen_at = last_seen(request.user, key)
            if seen_at is not None and now - seen_at > settings.SESSION_IDLE and not settings.IAP_AUDIENCE:
                logout(request)
                return
            _remember(key, now)
            mark_browser_seen(request.user, key, **_about(request))


def connect() -> None:
    """Connect the signal that records sign-ins. Called once, when the site is ready."""
    user_logged_in.connect(_record, dispatch_uid="browsers.record")


def _record(request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is None or not getattr(request, "session", None):
        return
    if request.session.session_key is None:
        request.session.create()
    _remember(request.session.session_key, timezone.now())
    record_browser(user, str(request.session.session_key), **_about(request))


def _remember(key: str | None, now: datetime) -> None:
    """Store when a session was marked. If too many are stored, drop all of them, which costs one write each."""
    if len(_seen) >= MAX_REMEMBERED:
        _seen.clear()
    _seen[str(key)] = now


def _about(request: HttpRequest) -> dict[str, Any]:
    browser = request.META.get("HTTP_USER_AGENT", "")
    return {"browser": browser, "address": client_address(request) or "", "now": timezone.now()}
