"""Sign-in by name and password, with a limit on how many passwords are hashed at once."""

import threading
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest

from dashboard.access.addresses import client_address

MAX_SIGN_INS_AT_ONCE = 2
"""Of one process, which has four threads: one whose password is hashed, and one from elsewhere that waits for that."""
_checked: set[str | None] = set()
"""The addresses whose sign-ins are being checked."""
_hashing, _counting = threading.Lock(), threading.Lock()


class TooManySignIns(Exception):
    """Other sign-ins are being checked; nothing was learned about this one."""


class SignInBackend(ModelBackend):
    """Signs people in by name and password, and finds the person of a session."""

    def get_user(self, user_id: int) -> User | None:
        """Return the person of a session if the account is active, with the profile, so that no page asks for it."""
        user = User.objects.select_related("profile").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Return whose name and password these are, None for nobody's.

        A password takes a large part of a second to check, by design. One at a time is checked, so that a flood of
        sign-ins leaves threads and processors to the pages, and one of each address, so that it leaves room to people
        elsewhere. Raises TooManySignIns where there is none. Where passwords sign nobody in, they still confirm a link
        to a provider.
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
