"""The owner of a compose form, as a signature in the form.

When the owner's session has ended, the signature allows one thing without a sign-in: to save the draft of this form,
which only its owner can read.
"""

from collections.abc import Mapping
from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing

SALT = "compose-form"
MAX_AGE = timedelta(days=30)
"""How long after its creation a form can be saved without a sign-in. A session lasts two weeks."""


def sign_form(user: User, form_key: str) -> str:
    """Return the signature for the form with this key, created for `user`."""
    return signing.dumps([user.pk, form_key], salt=SALT)


def owner_of_form(fields: Mapping[str, object]) -> User | None:
    """Return the owner of a posted form. None if the signature is invalid or the account is not active."""
    try:
        user_id, form_key = signing.loads(str(fields.get("form_owner", "")), salt=SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return None
    if form_key != fields.get("request_key"):
        return None
    return User.objects.filter(pk=user_id, is_active=True).first()
