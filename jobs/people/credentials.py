"""What an account can be used with after it changed hands or was closed: nothing that was made before.

A thief of a password makes a token or keeps a session, so both end with the password. They also end when an account is
deactivated; otherwise activating it again would bring them back.
"""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models.signals import post_save

from jobs.clock import database_now
from jobs.people.browsers import sign_out
from jobs.requests.api_tokens import revoke_tokens


class EndsTokens:
    """A validator that accepts every password. Django calls it after each change of one, wherever it was made."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Accept the password."""

    def password_changed(self, _password: str, user: User | None = None) -> None:
        """Revoke the tokens of the account. Its sessions end by themselves: they contain the password's hash."""
        if user is not None and user.pk is not None:
            revoke_tokens(user, now=database_now())

    def get_help_text(self) -> str:
        """Return "": there is nothing to know about the new password."""
        return ""


def end_access(user: User, *, now: datetime) -> None:
    """Sign out every browser of a person and revoke every token."""
    sign_out(user)
    revoke_tokens(user, now=now)


def hand_over(user: User, email: str, *, now: datetime) -> None:
    """Give an account to the person whom a provider has identified by `email`, a verified address.

    Whoever had it before may have prepared it for that, so the password, sessions and tokens end, and messages and
    password links go to the verified address.
    """
    user.email = email
    user.set_unusable_password()
    user.save(update_fields=["email", "password"])
    end_access(user, now=now)


def connect() -> None:
    """End the access of accounts when they are deactivated, on any page or by a command."""
    post_save.connect(_end_if_inactive, sender=User, dispatch_uid="credentials.end_if_inactive")


def _end_if_inactive(instance: User, *, raw: bool = False, **_: Any) -> None:
    if not instance.is_active and not raw:
        end_access(instance, now=database_now())
