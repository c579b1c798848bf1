"""Whose request it is: Django's sessions and users, with what every request asks the database made into SQL once."""

import threading
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from dashboard.access.addresses import client_address
from jobs.models import Prepared, given

_OF_KEY = Prepared(lambda: Session.objects.filter(session_key=given("key")))
_PERSON = Prepared(lambda: User.objects.filter(pk=given("pk")))
MAX_SIGN_INS_AT_ONCE = 2
"""Of one process, which has four threads: one whose password is hashed, and one from elsewhere that waits for that."""
_checked: set[str | None] = set()
"""The addresses whose sign-ins are being checked."""
_hashing, _counting = threading.Lock(), threading.Lock()


class TooManySignIns(Exception):
    """Other sign-ins are being checked; nothing was learned about this one."""


class SessionStore(db.SessionStore):
    """A session that is kept in the database."""

    def load(self) -> dict[str, Any]:
        """Return what the session holds; nothing, and from then on no session, where none of this key is alive."""
        for found in _OF_KEY.rows(key=self.session_key):
            if found.expire_date > timezone.now():
                return self.decode(found.session_data)
        self._session_key = None
        return {}


class PersonBackend(ModelBackend):
    """Signs people in by name and password, and finds who a session belongs to."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """Return whose name and password these are, None for nobody's.

        A password takes a large part of a second to check, by design. One at a time is checked, so that a flood of
        sign-ins leaves threads and processors to the pages, and one of each address, so that it leaves room to people
        elsewhere. Raises TooManySignIns where there is none.
        """
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

    def get_user(self, user_id: Any) -> User | None:
        """Return the person, unless the account is closed."""
        return next(filter(self.user_can_authenticate, _PERSON.rows(pk=user_id)), None)
