"""Invitations: a lead invites an e-mail address to a team. The person with the link joins once, until it expires."""

import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.bounds import digest_of
from jobs.errors import NotPermitted
from jobs.models import Invitation, Membership, Role, Team
from jobs.people.members import POWERFUL, NotChanged
from jobs.permissions import check_is_lead

LIFETIME = timedelta(days=7)
MAX_OPEN = 100
"""Open invitations of one team."""
MAX_SECRET = 100
NO_LONGER = gettext_lazy(
    "This invitation has been used, has expired or was withdrawn. Ask a lead of the team for a new one."
)


def invite(team: Team, email: str, role: str, *, by: User, now: datetime) -> tuple[Invitation, str]:
    """Return a new invitation and the secret of its link, which is not stored.

    Raise NotPermitted unless `by` is a lead, NotChanged if the address or role is invalid.
    """
    check_is_lead(by, team)
    if role not in Role.values:
        raise NotChanged(_("A role is one of %(values)s.") % {"values": ", ".join(Role.values)})
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise NotChanged(_("“%(email)s” is not an e-mail address.") % {"email": email[:100]}) from None
    if open_invitations(team, now).count() >= MAX_OPEN:
        raise NotChanged(_("A team has at most %(limit)s open invitations: withdraw one first.") % {"limit": MAX_OPEN})
    secret = secrets.token_urlsafe(32)
    row = Invitation.objects.create(
        team=team, email=email, role=role, digest=digest_of(secret), invited_by=by, invited_at=now,
        expires_at=now + LIFETIME,
    )  # fmt: skip
    return row, secret


def open_invitations(team: Team, now: datetime) -> QuerySet[Invitation]:
    """Return the invitations that can still be accepted, newest first."""
    rows = Invitation.objects.filter(team=team, accepted_at=None, expires_at__gt=now)
    return rows.select_related("invited_by").order_by("-pk")


def withdraw(team: Team, pk: int, *, by: User) -> None:
    """Delete an invitation that was not accepted. Raise NotPermitted unless `by` is a lead."""
    check_is_lead(by, team)
    with transaction.atomic():
        row = Invitation.objects.select_for_update().filter(pk=pk, team=team, accepted_at=None).first()
        if row is not None:
            row.delete()


def find_invitation(secret: str, *, now: datetime) -> Invitation | None:
    """Return the invitation of a link if it can be accepted now, else None."""
    rows = Invitation.objects.select_related("team", "invited_by")
    row = rows.filter(digest=digest_of(secret[:MAX_SECRET]), accepted_at=None, expires_at__gt=now).first()
    return row if row is not None and _still_stands(row) else None


@transaction.atomic
def accept(secret: str, *, by: User, now: datetime) -> Membership:
    """Let a person join a team; of two simultaneous uses, one succeeds. Raise NotChanged if the link is not valid.

    A person who is a member already keeps the role, and the link is used up. Whoever was invited as an approver or lead
    joins as an engineer until a second person has accepted the role; see `jobs.proposals`.
    """
    digest = digest_of(secret[:MAX_SECRET])
    row = Invitation.objects.select_for_update().filter(digest=digest, accepted_at=None, expires_at__gt=now).first()
    if row is None or not _still_stands(row):
        raise NotChanged(NO_LONGER)
    row.accepted_at, row.accepted_by = now, by
    row.save(update_fields=["accepted_at", "accepted_by"])
    role = Role.ENGINEER if row.role in POWERFUL else row.role
    member, _ = Membership.objects.get_or_create(team=row.team, user=by, defaults={"role": role})
    return member


@transaction.atomic
def accept_as(secret: str, name: str, password: str, *, now: datetime) -> User:
    """Create an account and let it join a team, both or neither. Raise NotChanged as `accept` does.

    The caller has checked name and password with the site's validators. The account's address is the invited one.
    """
    row = find_invitation(secret, now=now)
    if row is None:
        raise NotChanged(NO_LONGER)
    try:
        with transaction.atomic():
            user = User.objects.create_user(name, email=row.email, password=password)
    except IntegrityError:
        raise NotChanged(
            _("Somebody has just taken the name %(name)s: open the link again and choose another.") % {"name": name}
        ) from None
    accept(secret, by=user, now=now)
    return user


def _still_stands(row: Invitation) -> bool:
    """Return whether the author may still invite; open invitations of a lead who has left are not valid."""
    try:
        check_is_lead(row.invited_by, row.team)
    except NotPermitted:
        return False
    return True
