"""Browsers in which a person is signed in: recorded at sign-in, marked as seen, signed out on request."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction

from jobs.models import SignedInBrowser

MAX_BROWSERS = 20
"""Limit for one person; beyond it, the browser seen longest ago is signed out."""
SEEN_INTERVAL = timedelta(minutes=10)


@transaction.atomic
def record_browser(user: User, session_key: str, *, browser: str, address: str, now: datetime) -> None:
    """Record that a person has signed in with a session, and sign out browsers over the limit."""
    SignedInBrowser.objects.update_or_create(
        session_key=session_key,
        defaults={
            "user": user,
            "browser": browser[:200],
            "address": address[:64],
            "signed_in_at": now,
            "seen_at": now,
        },
    )
    known = SignedInBrowser.objects.filter(user=user).exclude(session_key=session_key)
    oldest = known.order_by("-seen_at", "-pk").values_list("session_key", flat=True)
    _end(list(oldest[MAX_BROWSERS - 1 :]))


def mark_browser_seen(user: User, session_key: str, *, browser: str, address: str, now: datetime) -> None:
    """Record that a session was used; a session that began before sessions were recorded is added now."""
    found = SignedInBrowser.objects.filter(session_key=session_key, user=user)
    if not found.update(seen_at=now, address=address[:64]):
        record_browser(user, session_key, browser=browser, address=address, now=now)


def last_seen(user: User, session_key: str) -> datetime | None:
    """Return when a session was last seen, to SEEN_INTERVAL; None for a session that is not recorded."""
    return SignedInBrowser.objects.filter(session_key=session_key, user=user).values_list("seen_at", flat=True).first()


def replace_session(before: str, after: str) -> None:
    """Update the key of a session after it changed, as it does with a new password."""
    SignedInBrowser.objects.filter(session_key=before).update(session_key=after)


def list_browsers(user: User, *, now: datetime) -> Sequence[SignedInBrowser]:
    """Return the browsers whose sessions are valid, the one seen last first; two queries."""
    rows = list(SignedInBrowser.objects.filter(user=user).order_by("-seen_at", "-pk")[:MAX_BROWSERS])
    keys = [row.session_key for row in rows]
    live = set(Session.objects.filter(session_key__in=keys, expire_date__gt=now).values_list("session_key", flat=True))
    return [row for row in rows if row.session_key in live]


@transaction.atomic
def sign_out(user: User, *, pk: int | None = None, keeping: str = "") -> int:
    """End one session of a person, or without `pk` all except `keeping`; return how many rows were deleted."""
    rows = SignedInBrowser.objects.filter(user=user).exclude(session_key=keeping)
    return _end(list((rows if pk is None else rows.filter(pk=pk)).values_list("session_key", flat=True)))


def _end(keys: Sequence[str]) -> int:
    Session.objects.filter(session_key__in=keys).delete()
    return SignedInBrowser.objects.filter(session_key__in=keys).delete()[0]
