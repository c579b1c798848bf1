"""Links that sign one person in once.

A command on the server makes them for admins who have no other way to sign in.
"""

from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing

LIFETIME = timedelta(minutes=10)
SALT = "dashboard.access.one_time_links"


def make_secret(user: User) -> str:
    """Return the secret part of a link. It is valid until the person's next sign-in, and for LIFETIME at most."""
    return signing.dumps([user.pk, _last(user)], salt=SALT)


def find_person(secret: str) -> User | None:
    """Return the person that a link signs in. None if it was used, is too old or was not made here."""
    try:
        pk, last = signing.loads(secret, salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=pk, is_active=True).first()
    return user if user is not None and _last(user) == last else None


def _last(user: User) -> str:
    return user.last_login.isoformat() if user.last_login else ""
