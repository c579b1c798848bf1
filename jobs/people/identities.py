"""People who sign in at a provider: which account is theirs, and which teams they join at the first sign-in."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Identity, Invitation, Membership, Profile, Role, SignInRule

RANK = {role: rank for rank, role in enumerate(Role.values)}
MAX_GROUPS = 500
"""Groups of one sign-in that are looked at."""
DEACTIVATED = gettext_lazy("This account is deactivated; a site admin can activate it.")


class NotAdmitted(Exception):
    """The provider knows the person, but no account here is theirs; the message states why and what to do."""


class PasswordNeeded(NotAdmitted):
    """The address is that of the account `user`, which has a password: whoever knows that may link the two."""

    def __init__(self, user: User, words: str) -> None:
        super().__init__(words)
        self.user = user


@dataclass(frozen=True, slots=True)
class Claims:
    """What a provider has signed about a person: who it is (`subject`), and an e-mail address that it has verified."""

    provider: str
    subject: str
    email: str
    """ "" where the provider names none, or has not verified it."""
    groups: tuple[str, ...] = ()
    hosted_domain: str = ""
    """The Google Workspace domain of the account, "" where there is none."""
    name: str = ""
    knows_groups: bool = True
    """False where the provider left the groups out because there are too many of them."""
    trusts_address: bool = False
    """Whether an admin has set that this provider decides whose the addresses of this domain are."""
    may_create: bool = True
    """Whether the person gets an account that no rule and no invitation names."""

    @property
    def domain(self) -> str:
        """The domain that rules compare, in lower case."""
        return (self.hosted_domain or self.email.rpartition("@")[2]).lower()


def find_user(claims: Claims, *, now: datetime) -> User:
    """Return the account of the person, who is given one and the teams that the rules name at the first sign-in.

    An account that somebody opens with a password, or that administers the site, is taken over only after an admin has
    agreed: whoever controls an address today need not be who chose the password. Raises NotAdmitted.
    """
    user = _known(claims)
    if user is None:
        try:
            with transaction.atomic():
                user = _first_sign_in(claims, now)
        except IntegrityError:  # the same person's second request came at the same time
            user = _known(claims)
            if user is None:
                raise NotAdmitted(_("Another account has just taken this user name; sign in again.")) from None
    if not user.is_active:
        raise NotAdmitted(DEACTIVATED)
    return user


def link(user: User, claims: Claims, *, now: datetime) -> Identity:
    """Tie the account to the person at the provider, and add the teams that the rules name; return the new row.

    The caller has made sure that both are the same person. Raises IntegrityError where the person has an account.
    """
    identity = Identity.objects.create(
        provider=claims.provider, subject=claims.subject, user=user, created_at=now, email=claims.email[:254]
    )
    _join_teams(identity, _rules(claims))
    return identity


@transaction.atomic
def record_sign_in(claims: Claims, *, now: datetime) -> None:
    """Record that a browser is signed in by a provider, and take back roles of groups that the person has left.

    A role that a group gave falls to what the rules give without that group, or the membership ends. Roles that a lead
    has set since, and those that a rule for a domain gave, stay.
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
    if user is None:
        if not (claims.may_create or _rules(claims) or _is_invited(email, now)):
            raise NotAdmitted(
                _(
                    "There is no account for %(email)s here. Ask a lead of your team to invite this address, or a site "
                    "admin to add a rule for its domain on the page People."
                )
                % {"email": email}
            )
        user = _create(email, claims.name)
    link(user, claims, now=now)
    return user


def _own_account(email: str, claims: Claims) -> User | None:
    """Return the account with this address, None where there is none; raise NotAdmitted where it may not be taken."""
    same = list(User.objects.select_for_update().filter(Q(email__iexact=email) | Q(username__iexact=email))[:2])
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


def _is_invited(email: str, now: datetime) -> bool:
    return Invitation.objects.filter(email=email, accepted_at=None, expires_at__gt=now).exists()


def _create(email: str, name: str) -> User:
    user = User(username=email[:150], email=email, first_name=name.strip()[:150])
    user.set_unusable_password()
    user.save()
    return user


def _rules(claims: Claims) -> list[SignInRule]:
    groups = claims.groups[:MAX_GROUPS]
    of_domain = Q(source=SignInRule.Source.DOMAIN, value=claims.domain)
    return list(SignInRule.objects.filter(of_domain | Q(source=SignInRule.Source.GROUP, value__in=groups)))


def _best(rules: Iterable[SignInRule]) -> dict[int, SignInRule]:
    """Return the rule with the highest role of each team, one for a domain before one for a group."""
    found: dict[int, SignInRule] = {}
    for rule in sorted(rules, key=lambda each: (-RANK[each.role], each.source == SignInRule.Source.GROUP, each.pk)):
        found.setdefault(rule.team_id, rule)
    return found


def _granted(identity: Identity, rule: SignInRule) -> dict[str, object]:
    """Return what a membership keeps of the group that gave it, nothing where that was a domain."""
    is_group = rule.source == SignInRule.Source.GROUP
    return {"granted_by": identity if is_group else None, "granted_by_group": rule.value if is_group else ""}


def _join_teams(identity: Identity, rules: Iterable[SignInRule]) -> None:
    """Add the memberships with the highest role that a rule gives; a role that the person has stays as it is."""
    for team_id, rule in _best(rules).items():
        defaults = {"role": rule.role, **_granted(identity, rule)}
        Membership.objects.get_or_create(team_id=team_id, user=identity.user, defaults=defaults)
