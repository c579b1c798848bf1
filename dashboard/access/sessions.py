"""Whose request it is: Django's sessions and users, with what every request asks the database made into SQL once."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from jobs.models import Prepared, given

_OF_KEY = Prepared(lambda: Session.objects.filter(session_key=given("key")))
_PERSON = Prepared(lambda: User.objects.filter(pk=given("pk")))


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

    def get_user(self, user_id: Any) -> User | None:
        """Return the person, unless the account is closed."""
        return next(filter(self.user_can_authenticate, _PERSON.rows(pk=user_id)), None)
