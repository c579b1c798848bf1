"""Who a compose form was made for, as a signature in it: what is typed is kept for them when their session has ended.

The signature allows one thing without a sign-in: to keep the draft of this form, which only its owner can read.
"""

from collections.abc import Mapping
from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing

SALT = "compose-form"
MAX_AGE = timedelta(days=30)
"""How long after it was made a form can be kept without a sign-in; a session lasts two weeks."""


def sign_form(user: User, form_key: str) -> str:
    """Return the signature for the form with this key that is made for `user`."""
    return signing.dumps([user.pk, form_key], salt=SALT)


def owner_of_form(fields: Mapping[str, object]) -> User | None:
    """Return whom a posted form was made for; None without a valid signature and for accounts that are not active."""
    try:
        user_id, form_key = signing.loads(str(fields.get("form_owner", "")), salt=SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return None
    if form_key != fields.get("request_key"):
        return None
    return User.objects.filter(pk=user_id, is_active=True).first()
