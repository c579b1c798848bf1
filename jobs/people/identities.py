"""Sign-in by a provider: find the account of a person, and the teams that they join at the first sign-in."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Identity, Invitation, Membership, Profile, Role, SignInRule
from jobs.people.credentials import hand_over

RANK = {role: rank for rank, role in enumerate(Role.values)}
MAX_GROUPS = 500
"""Groups of one sign-in that are checked."""
DEACTIVATED = gettext_lazy("This account is deactivated; a site admin can activate it.")


class NotAdmitted(Exception):
    """The provider knows the person, but no account here is open to them; the message states why and what to do."""


class PasswordNeeded(NotAdmitted):
    """The address belongs to the account `user`, which has a password; a person who knows it may link the account."""

    def __init__(self, user: User, words: str) -> None:
        super().__init__(words)
        self.user = user


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a provider about a person: the id (`subject`), and an e-mail address that it has verified."""

    provider: str
    subject: str
    email: str
    """Empty if the provider names none, or has not verified it."""
    groups: tuple[str, ...] = ()
    hosted_domain: str = ""
    """The Google Workspace domain of the account, "" if there is none."""
    name: str = ""
    knows_groups: bool = True
    """False if the provider left out the groups because there are too many."""
    trusts_address: bool = False
    """Whether an admin has set that this provider may decide who owns addresses of this domain."""
    may_create: bool = True
    """Whether a person without a rule and without an invitation gets an account."""

    @property
    def domain(self) -> str:
        """The domain for rules, in lowercase."""
        return (self.hosted_domain or self.email.rpartition("@")[2]).lower()


def find_user(claims: Claims, *, now: datetime) -> User:
    """Return the account of a person. At the first sign-in, create it and add it to the teams that the rules name.

    An account that has a password, or that administers the site, is linked only after an admin has agreed, because the
    person who controls an address today may not be the one who chose the password. Raise NotAdmitted if the
    person may not use an account here.
    """
    user = _known(claims)
    if user is None:
        try:
            with transaction.atomic():
                user = _first_sign_in(claims, now)
        except IntegrityError:  # a second request of the same person arrived at the same time
            user = _known(claims)
            if user is None:
                raise NotAdmitted(_("Another account has just taken this user name; sign in again.")) from None
    if not user.is_active:
        raise NotAdmitted(DEACTIVATED)
    return user


def link(user: User, claims: Claims, *, now: datetime) -> Identity:
    """Link an account to the person at the provider, and add the teams that the rules name; return the new row.

    The caller has verified that both are the same person. Raise IntegrityError if the person already has an account.
    """
    identity = Identity.objects.create(
        provider=claims.provider, subject=claims.subject, user=user, created_at=now, email=claims.email[:254]
    )
    # A role that the person has already is not changed.
    for team_id, rule in _best(_rules(claims)).items():
        defaults = {"role": rule.role, **_granted(identity, rule)}
        Membership.objects.get_or_create(team_id=team_id, user=identity.user, defaults=defaults)
    return identity


@transaction.atomic
def record_sign_in(claims: Claims, *, now: datetime) -> None:
    """Record a sign-in by a provider, and remove roles given by groups that the person has left.

    A role that a group gave is lowered to what the rules give without the group, or the membership ends. Roles that a
    lead has set since, and roles given by a domain, stay.
    """
    identity = Identity.objects.select_for_update().get(provider=claims.provider, subject=claims.subject)
    identity.email, identity.signed_in_at = claims.email[:254], now
    identity.save(update_fields=["email", "signed_in_at"])
    if not claims.knows_groups:
        return
    groups = frozenset(claims.groups)
    left = [each for each in identity.memberships.all() if each.granted_by_group not in groups]
    best = _best(_rules(claims)) if left else {}
    for membership in left:
        rule = best.get(membership.team_id)
        if rule is None:
            membership.delete()
            continue
        role = min(rule.role, membership.role, key=lambda each: RANK[each])
        for name, value in _granted(identity, rule).items():
            setattr(membership, name, value)
        membership.role = role
        membership.save(update_fields=["role", "granted_by", "granted_by_group"])


def _known(claims: Claims) -> User | None:
    found = Identity.objects.select_related("user").filter(provider=claims.provider, subject=claims.subject).first()
    return found.user if found is not None else None


def _first_sign_in(claims: Claims, now: datetime) -> User:
    email = claims.email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise NotAdmitted(_("The sign-in provider names no e-mail address that it has verified.")) from None
    user = _own_account(email, claims)
    if user is not None:
        hand_over(user, email, now=now)
    else:
        if not (
            claims.may_create
            or _rules(claims)
            or Invitation.objects.filter(email=email, accepted_at=None, expires_at__gt=now).exists()
        ):
            raise NotAdmitted(
                _(
                    "There is no account for %(email)s here. Ask a lead of your team to invite this address, or a site "
                    "admin to add a rule for its domain on the page People."
                )
                % {"email": email}
            )
        user = User(username=_free_name(email), email=email, first_name=claims.name.strip()[:150])
        user.set_unusable_password()
        user.save()
    link(user, claims, now=now)
    return user


def _own_account(email: str, claims: Claims) -> User | None:
    """Return the account with this address, None if there is none. Raise NotAdmitted if it may not be linked."""
    # A name that looks like an address counts only where no address is known: it was chosen, nobody has verified it.
    named = Q(email="", username__iexact=email)
    same = list(User.objects.select_for_update().filter(Q(email__iexact=email) | named)[:2])
    if not same:
        return None
    if len(same) > 1:
        raise NotAdmitted(_("Several accounts have this e-mail address; a site admin has to say which one is yours."))
    user = same[0]
    if not user.is_active:
        raise NotAdmitted(DEACTIVATED)
    is_admin = user.is_superuser or user.is_staff
    claimed = user.has_usable_password() or is_admin or user.identities.exists()
    allowed = Profile.objects.filter(user=user, links_next_sign_in=True).update(links_next_sign_in=False)
    if not claimed or allowed or (claims.trusts_address and not is_admin):
        return user
    words = _(
        "The account %(person)s has this e-mail address but another way to sign in. A site admin can allow the next "
        "sign-in to take it over, on the page People."
    ) % {"person": user.get_username()}
    raise PasswordNeeded(user, words) if user.has_usable_password() else NotAdmitted(words)


def _free_name(email: str) -> str:
    """Return the address as a user name, with a number where somebody has taken it."""
    taken = {
        name.lower()
        for name in User.objects.filter(username__istartswith=email[:140]).values_list("username", flat=True)
    }
    names = (email[:140] + (f"-{number}" if number > 1 else "") for number in count(1))
    return next(name for name in names if name not in taken)


def _rules(claims: Claims) -> list[SignInRule]:
    groups = claims.groups[:MAX_GROUPS]
    of_domain = Q(source=SignInRule.Source.DOMAIN, value=claims.domain)
    return list(SignInRule.objects.filter(of_domain | Q(source=SignInRule.Source.GROUP, value__in=groups)))


def _best(rules: Iterable[SignInRule]) -> dict[int, SignInRule]:
    """Return the rule with the highest role for each team, one for a domain before one for a group."""
    found: dict[int, SignInRule] = {}
    for rule in sorted(rules, key=lambda each: (-RANK[each.role], each.source == SignInRule.Source.GROUP, each.pk)):
        found.setdefault(rule.team_id, rule)
    return found


def _granted(identity: Identity, rule: SignInRule) -> dict[str, object]:
    """Return the columns of a membership that name the group that gave it, empty if a domain gave it."""
    is_group = rule.source == SignInRule.Source.GROUP
    return {"granted_by": identity if is_group else None, "granted_by_group": rule.value if is_group else ""}
