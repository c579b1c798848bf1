"""Limits on failed sign-ins, after which django-axes refuses further ones for a while without a password check.

There are two counts: failures of one account from one address, and failures of all accounts from that address. Failures
from other addresses do not count, so nobody can lock a colleague out from another address. The second count does not
apply to people who have signed in from that address before: otherwise one person who tries names would lock out a whole
office. Sign-ins at a provider and with a password are counted apart. The limits are in the settings. Each counted
failure is in the audit log; sign-ins refused without a check are not.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from auditlog.models import LogEntry
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from dashboard.access.addresses import client_address
from jobs.bounds import is_storable
from jobs.people.audit import record_sign_in_event

Credentials = dict[str, Any] | None
Attempts = QuerySet[AccessAttempt]
AT_PROVIDER = "provider "
"""Beginning of the stored name of a failed sign-in at a provider."""


class SignInLimits(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no annotations
    """The handler of axes, with an additional limit per address."""

    def get_failures(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """Return the number of failures on the scale of AXES_FAILURE_LIMIT. Axes locks at that number."""
        of_account, of_address = (
            int(rows.aggregate(failures=Sum("failures_since_start"))["failures"] or 0)
            for rows in self._attempts(request, credentials)
        )
        return max(of_account, of_address * settings.AXES_FAILURE_LIMIT // settings.MAX_FAILURES_PER_ADDRESS)

    def _attempts(self, request: HttpRequest, credentials: Credentials) -> tuple[Attempts, Attempts]:
        """Return the counted failures of the account from this address, and of others from this address."""
        of_account, of_address = self.get_user_attempts(request, credentials)
        if (credentials or {}).get("provider"):
            return of_account, of_address.filter(username__startswith=AT_PROVIDER)
        if _has_signed_in_here(credentials or {"username": request.POST.get("username")}, client_address(request)):
            return of_account, of_address.none()
        return of_account, of_address.exclude(username__startswith=AT_PROVIDER)

    def reset_user_attempts(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """Delete the failures of an account from an address after it signed in there. Return the number of rows.

        Failures of other accounts are kept. Otherwise an attacker could sign in to get new tries at a colleague's
        account.
        """
        of_account, _ = self.filter_user_attempts(request, credentials)
        return int(of_account.delete()[0])

    def user_login_failed(
        self, sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        """Count and record a failure, and the lock that may follow."""
        was_locked = getattr(request, "axes_locked_out", False)
        super().user_login_failed(sender, credentials, request, **kwargs)
        if request is None or was_locked:
            return
        about, address = find_account(credentials), client_address(request)
        provider = credentials.get("provider")
        record_sign_in_event(f"failed at {provider}" if provider else "failed", about, by=None, address=address)
        if request.axes_locked_out:  # type: ignore[attr-defined]  # axes adds it
            words = "too many failures: refused for a while from this address"
            record_sign_in_event(words, about, by=None, address=address)

    def locked_until(self, request: HttpRequest, credentials: Credentials = None) -> datetime | None:
        """Return when the next sign-in will be checked. None if it is checked now."""
        of_account, of_address = self._attempts(request, credentials)
        ends = (
            _end(of_account, settings.AXES_FAILURE_LIMIT, request),
            _end(of_address, settings.MAX_FAILURES_PER_ADDRESS, request),
        )
        return max((end for end in ends if end is not None), default=None)


def find_account(credentials: Credentials) -> User | None:
    """Return the account that a sign-in names, or None."""
    name = (credentials or {}).get("username") or ""
    return User.objects.filter(username=name).first() if is_storable(name) else None


def _has_signed_in_here(credentials: dict[str, Any], address: str | None) -> bool:
    """Return whether the account that a sign-in names has signed in from this address, according to the audit log."""
    user = find_account(credentials)
    if user is None or address is None:
        return False
    signed_in = LogEntry.objects.filter(actor=user, object_id=user.pk, action=LogEntry.Action.ACCESS)
    of_users = signed_in.filter(content_type=ContentType.objects.get_for_model(User), remote_addr=address)
    return bool(of_users.exists())


def counted_name(request: HttpRequest, credentials: Credentials) -> str | None:
    """Return the name under which failures are stored: that of an account, else a digest.

    An unknown name is hashed because people type passwords into this field.
    """
    name = (credentials or {"username": request.POST.get("username")}).get("username")
    if not name or find_account({"username": name}) is not None:
        return name
    digest = salted_hmac("dashboard.access.sign_in_limits", name).hexdigest()
    return f"{AT_PROVIDER if (credentials or {}).get('provider') else 'unknown '}{digest}"


def _end(rows: Iterable[AccessAttempt], limit: int, request: HttpRequest) -> datetime | None:
    """Return when enough rows will have expired for the rest to be below the limit, None if it is not reached."""
    failures = 0
    for row in sorted(rows, key=lambda row: row.attempt_time, reverse=True):
        failures += row.failures_since_start
        if failures >= limit:
            end: datetime = row.attempt_time + get_cool_off(request)
            return end
    return None
