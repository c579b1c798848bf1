"""The rule by which two accounts count as one person: neither decides about what the other requests or has approved.

Whoever invited an account may be the one who uses it, until a second person has accepted its role or confirmed it.
`why_one` is the rule in memory, COUNT_AS_ONE the same in SQL.
"""

from django.contrib.auth.models import User
from django.db.models import BooleanField, Exists, F, Func, IntegerField, OuterRef, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

ITSELF = gettext_lazy("You asked for it: somebody else has to approve it.")
INVITED = gettext_lazy(
    "The requester invited your account, and nobody else has confirmed it: another approver has to decide, or a site "
    "admin or another lead has to confirm your account."
)
INVITED_BOTH = gettext_lazy(
    "One person invited your account and the requester's, and nobody else has confirmed yours: another approver has to "
    "decide, or a site admin or another lead has to confirm your account."
)
INVITER = gettext_lazy(
    "You invited the requester's account, and nobody else has confirmed it: another approver has to decide, or a site "
    "admin or another lead has to confirm the account on the page of the team."
)

APPROVED = gettext_lazy(
    "Somebody whose account counts as one with yours has approved it: another approver has to decide, or a site admin "
    "or another lead has to confirm the invited account."
)

INVITER_OF = """(
    SELECT invitation.invited_by_id FROM jobs_invitation AS invitation
    WHERE invitation.accepted_by_id = %(expressions)s AND invitation.invited_by_id <> invitation.accepted_by_id
        AND NOT EXISTS (
            SELECT 1 FROM jobs_proposal AS accepted
            WHERE accepted.kind IN ('role', 'account') AND accepted.decision = 'accepted'
                AND accepted.subject = CAST(invitation.accepted_by_id AS VARCHAR)
                AND accepted.decided_by_id <> invitation.invited_by_id
        )
    ORDER BY invitation.accepted_at, invitation.id LIMIT 1
)"""
"""Who invited a person; NULL for nobody, and if somebody else than they has accepted or confirmed the account."""
COUNT_AS_ONE = """EXISTS (
    SELECT 1 FROM auth_user AS decider CROSS JOIN auth_user AS requester
    LEFT JOIN auth_user AS inviter ON inviter.id = INVITER_OF_DECIDER
    WHERE (decider.id, requester.id) = (%(expressions)s) AND (
        decider.id = requester.id OR NOT decider.is_superuser AND (
            inviter.id = requester.id OR INVITER_OF_REQUESTER = decider.id
            OR INVITER_OF_REQUESTER = inviter.id AND NOT inviter.is_superuser
        )
    )
)"""
COUNT_AS_ONE = COUNT_AS_ONE.replace("INVITER_OF_DECIDER", INVITER_OF % {"expressions": "decider.id"})
COUNT_AS_ONE = COUNT_AS_ONE.replace("INVITER_OF_REQUESTER", INVITER_OF % {"expressions": "requester.id"})
"""Whether a decider and a requester, the two expressions, count as one; false if either is NULL."""


class InviterOf(Func):
    """INVITER_OF as an expression of Django."""

    template = INVITER_OF
    output_field = IntegerField()


class CountAsOne(Func):
    """COUNT_AS_ONE as a condition of Django: `CountAsOne(decider, requester)`."""

    template = COUNT_AS_ONE
    output_field = BooleanField()


def with_inviters(people: QuerySet[User]) -> QuerySet[User]:
    """Annotate people with `inviter`, the key or None, and `of_admin`, whether that is a site admin: for `why_one`."""
    admin = User.objects.filter(pk=InviterOf(OuterRef("pk")), is_superuser=True)
    return people.annotate(inviter=InviterOf(F("pk")), of_admin=Exists(admin))


def why_one(decider: User, requester: User) -> str | Promise | None:
    """Return, for people, why two rows of `with_inviters` count as one; None if they do not.

    They do if they are the same, if one has invited the other, or if one person who is no site admin has invited both.
    Site admins may do everything, so they count as nobody else when they decide.
    """
    if decider.pk == requester.pk:
        return ITSELF
    if decider.is_superuser:
        return None
    of_decider, of_requester = (each.inviter for each in (decider, requester))  # type: ignore[attr-defined]
    if of_decider == requester.pk:
        return INVITED
    if of_requester == decider.pk:
        return INVITER
    is_of_both = of_decider is not None and of_decider == of_requester
    return INVITED_BOTH if is_of_both and not decider.of_admin else None  # type: ignore[attr-defined]


def count_as_one(decider: int, *requesters: int) -> bool:
    """Return whether a person counts as one with any of others."""
    others = User.objects.filter(pk__in=requesters)
    return others.filter(CountAsOne(decider, F("pk"))).exists()
