"""Sign-in providers linked to an account: added by its owner, listed, and removed if another way to sign in remains."""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Identity
from jobs.people.identities import DEACTIVATED, Claims, link
from jobs.people.members import NotChanged

MAX_LINKS = 20
"""Limit for one account."""
LAST_WAY = gettext_lazy("This is your only way to sign in: choose a password or link another provider first.")


@transaction.atomic
def add_link(user: User, claims: Claims, *, now: datetime) -> Identity:
    """Link a provider's identity to the account of an owner who has proved to be that person.

    Raise NotChanged if the link is not possible.
    """
    user = User.objects.select_for_update().get(pk=user.pk)
    if not user.is_active:
        raise NotChanged(DEACTIVATED)
    if user.identities.count() >= MAX_LINKS:
        raise NotChanged(_("An account has at most %(limit)s links: remove one first.") % {"limit": MAX_LINKS})
    try:
        with transaction.atomic():
            return link(user, claims, now=now)
    except IntegrityError:
        raise NotChanged(_("This provider account is already linked to a Trainboard account.")) from None


def is_linked(user: User, claims: Claims) -> bool:
    """Return whether this identity at the provider signs in to this account already."""
    return Identity.objects.filter(user=user, provider=claims.provider, subject=claims.subject).exists()


def list_links(user: User) -> Sequence[Identity]:
    """Return the links of an account, the oldest first; one query."""
    return list(Identity.objects.filter(user=user).order_by("created_at", "pk")[:MAX_LINKS])


@transaction.atomic
def remove_link(user: User, pk: int, *, providers: Collection[str], has_password: bool) -> Identity | None:
    """Remove a link and the memberships that its groups gave; return it, or None if it is gone already.

    `providers` are those available for sign-in now; `has_password` is whether the account can sign in with a password.
    Raise NotChanged if no way to sign in would be left.
    """
    user = User.objects.select_for_update().get(pk=user.pk)
    row = user.identities.filter(pk=pk).first()
    if row is None:
        return None
    others = user.identities.exclude(pk=pk).filter(provider__in=providers)
    if not has_password and not others.exists():
        raise NotChanged(LAST_WAY)
    for membership in row.memberships.all():
        membership.delete()
    row.delete()
    return row
