"""People who sign in at a provider: which account is theirs, and which teams they join at the first sign-in."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Q

from jobs.models import Identity, Membership, Profile, Role, SignInRule

RANK = {role: rank for rank, role in enumerate(Role.values)}
MAX_GROUPS = 500
"""Groups of one sign-in that are looked at."""


class NotAdmitted(Exception):
    """The provider knows the person, but no account here is theirs; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a provider has signed about a person: who it is (`subject`), and an e-mail address that it has verified."""

    provider: str
    subject: str
    email: str
    groups: tuple[str, ...] = ()
    hosted_domain: str = ""
    """The Google Workspace domain of the account, "" where there is none."""
    name: str = ""

    @property
    def domain(self) -> str:
        """The domain that rules compare, in lower case."""
        return (self.hosted_domain or self.email.rpartition("@")[2]).lower()


def find_user(claims: Claims, *, now: datetime) -> User:
    """Return the account of the person, who is given one and the teams that the rules name at the first sign-in.

    An account that somebody opens with a password, or that administers the site, is taken over only after an admin has
    said so: whoever controls an address today need not be who chose the password. Raises NotAdmitted.
    """
    user = _known(claims)
    if user is None:
        try:
            with transaction.atomic():
                user = _first_sign_in(claims, now)
        except IntegrityError:  # the same person's second request came at the same time
            user = _known(claims)
            if user is None:
                raise NotAdmitted("Another account has just taken this user name; sign in again.") from None
    if not user.is_active:
        raise NotAdmitted("This account is deactivated; a site admin can open it again.")
    return user


def _known(claims: Claims) -> User | None:
    found = Identity.objects.select_related("user").filter(provider=claims.provider, subject=claims.subject).first()
    return found.user if found is not None else None


def _first_sign_in(claims: Claims, now: datetime) -> User:
    email = claims.email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise NotAdmitted("The sign-in provider told no usable e-mail address.") from None
    user = _own_account(email) or _create(email, claims.name)
    Identity.objects.create(provider=claims.provider, subject=claims.subject, user=user, created_at=now)
    _join_teams(user, _rules(claims))
    return user


def _own_account(email: str) -> User | None:
    """Return the account with this address, None where there is none; raise NotAdmitted where it may not be taken."""
    same = list(User.objects.select_for_update().filter(Q(email__iexact=email) | Q(username__iexact=email))[:2])
    if not same:
        return None
    if len(same) > 1:
        raise NotAdmitted("Several accounts have this e-mail address; a site admin has to say which one is yours.")
    user = same[0]
    claimed = user.has_usable_password() or user.is_superuser or user.is_staff or user.identities.exists()
    allowed = Profile.objects.filter(user=user, links_next_sign_in=True).update(links_next_sign_in=False)
    if claimed and not allowed:
        raise NotAdmitted(
            f"The account {user.get_username()} has this e-mail address and is opened in another way. A site admin can "
            "let the next sign-in take it over, on the page People."
        )
    return user


def _create(email: str, name: str) -> User:
    user = User(username=email[:150], email=email, first_name=name.strip()[:150])
    user.set_unusable_password()
    user.save()
    return user


def _rules(claims: Claims) -> list[SignInRule]:
    groups = claims.groups[:MAX_GROUPS]
    of_domain = Q(source=SignInRule.Source.DOMAIN, value=claims.domain)
    return list(SignInRule.objects.filter(of_domain | Q(source=SignInRule.Source.GROUP, value__in=groups)))


def _join_teams(user: User, rules: Iterable[SignInRule]) -> None:
    """Add the memberships with the highest role that a rule gives; a role that the person has stays as it is."""
    roles: dict[int, str] = {}
    for rule in rules:
        if rule.team_id not in roles or RANK[rule.role] > RANK[roles[rule.team_id]]:
            roles[rule.team_id] = rule.role
    for team_id, role in roles.items():
        Membership.objects.get_or_create(team_id=team_id, user=user, defaults={"role": role})
