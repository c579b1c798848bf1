"""Sign-in by name and password, with a limit on concurrent password checks."""

import threading
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest

from dashboard.access.addresses import client_address

MAX_SIGN_INS_AT_ONCE = 2
"""Maximum per process, which has four threads: one whose password is checked, and one from another address that waits.
"""
_checked: set[str | None] = set()
"""Addresses whose sign-ins are being checked."""
_hashing, _counting = threading.Lock(), threading.Lock()


class TooManySignIns(Exception):
    """Other sign-ins are being checked. This one was not checked."""


class SignInBackend(ModelBackend):
    """Signs people in by name and password, and loads the user of a session."""

    def get_user(self, user_id: int) -> User | None:
        """Return the user of a session if the account is active.

        Load the profile too, so that pages need no query for it.
        """
        user = User.objects.select_related("profile").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Return the user with this name and password, or None.

        A password check is slow by design. One runs at a time, so that a flood of sign-ins leaves threads and
        processors to pages. Each address may have one, so that it does not block people elsewhere. Raise TooManySignIns
        if no check is free. If password sign-in is off, a password can still confirm a link to a provider.
        """
        if not (settings.PASSWORD_SIGN_IN or kwargs.pop("confirms_link", False)):
            return None
        address = client_address(request) if request is not None else None
        with _counting:
            if len(_checked) >= MAX_SIGN_INS_AT_ONCE or address in _checked:
                raise TooManySignIns
            _checked.add(address)
        try:
            with _hashing:
                return super().authenticate(request, username=username, password=password, **kwargs)
        finally:
            with _counting:
                _checked.discard(address)
