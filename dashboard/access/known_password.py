"""Protect a site that others can reach from the demo's password, which is public.

The sign-in form refuses it (a backend before all others), sessions of people who have it end (a middleware), nobody can
choose it (a validator), and the site does not start while it works (a check, and `refuse_start` for WSGI).
"""

import logging
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import AnonymousUser, User
from django.core import checks
from django.core.exceptions import ImproperlyConfigured, PermissionDenied, ValidationError
from django.db import DatabaseError, connections
from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from dashboard import rehearsal

log = logging.getLogger(__name__)


class KnownPasswordBackend:
    """Signs nobody in. Stops people who use the demo's password on a site that others can reach."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> None:
        """Return None, so that the other backends decide. Raise PermissionDenied to stop them."""
        if password != rehearsal.PASSWORD:
            return
        request = request or HttpRequest()
        if why := rehearsal.refusal(request) or rehearsal.refusal_of_others(request):
            # Never log the name as typed: people type passwords into this field.
            name = username if username in rehearsal.NAMES else "somebody who is not of the demo"
            log.warning("refused the demo's password for %s: %s", name, why)
            raise PermissionDenied


class NotTheKnownPassword:
    """A validator of new passwords."""

    def validate(self, password: str, user: Any = None) -> None:  # noqa: ARG002 - Django's signature
        """Raise ValidationError for the demo's password."""
        if password == rehearsal.PASSWORD:
            raise ValidationError(_("This is the demo password, which everybody knows."), code="known_password")

    def get_help_text(self) -> str:
        """Return the requirement for a password."""
        return _("Your password can’t be the demo password.")


class KnownPasswordMiddleware(MiddlewareMixin):
    """Treats people with the demo's password as not signed in if the request could come from others.

    It comes after AuthenticationMiddleware. It makes no query unless the user of the request is needed.
    """

    def process_request(self, request: HttpRequest) -> None:
        """Replace the user of such a request by an anonymous one."""
        if rehearsal.refusal(request):
            user = request.user
            request.user = SimpleLazyObject(lambda: AnonymousUser() if has_known_password(user) else user)  # type: ignore[assignment]


def has_known_password(user: User | AnonymousUser) -> bool:
    """Return whether this is a demo user who can sign in with the public password."""
    return user.is_authenticated and user.username in rehearsal.NAMES and _opens(user.password)


@lru_cache(maxsize=64)
def _opens(encoded: str) -> bool:
    """Return whether the demo's password matches.

    Cached per stored hash, because hashing takes a quarter of a second.
    """
    return check_password(rehearsal.PASSWORD, encoded)


def people() -> list[str]:
    """Return the names of the demo users who can sign in with the public password."""
    users = User.objects.filter(username__in=rehearsal.NAMES, is_active=True).order_by("username")
    return [user.username for user in users if user.has_usable_password() and _opens(user.password)]


def why_not_start(reasons: list[str]) -> str:
    """Return why a site that is not a rehearsal, for these reasons, may not start. Return "" if it may."""
    if not reasons or not (names := people()):
        return ""
    return (
        f"{', '.join(names)} can sign in with the demo's password, which everybody knows, and others may reach this "
        f"site: {'; '.join(reasons)}. {rehearsal.WHAT_TO_DO}"
    )


def refuse_start() -> None:
    """Raise ImproperlyConfigured if the site may not start. For WSGI servers, which run no checks."""
    try:
        if refusal := why_not_start(rehearsal.reasons_against()):
            raise ImproperlyConfigured(refusal)
    except DatabaseError as failure:  # no database or no tables yet: nobody can sign in, and the backend still refuses
        log.warning("could not look for people with the demo's password: %s", failure)


def check(databases: Any = None, **_: Any) -> list[checks.CheckMessage]:
    """Report people with the demo's password: an error if others can reach the site according to its settings.

    Without a Vertex AI endpoint it is a warning, because `manage.py up` sets the emulator's. This is a check of
    databases, which `migrate` and `check --database default` run.
    """
    if "default" not in (databases or ()):
        return []
    if User._meta.db_table not in connections["default"].introspection.table_names():  # before the first `migrate`
        return []
    endpoint = None if settings.VERTEX_ENDPOINT else rehearsal.EMULATOR
    if refusal := why_not_start(rehearsal.reasons_against(endpoint=endpoint)):
        return [checks.Error(refusal, id="dashboard.E001")]
    if warning := why_not_start(rehearsal.reasons_against()):
        return [checks.Warning(warning, id="dashboard.W001")]
    return []
