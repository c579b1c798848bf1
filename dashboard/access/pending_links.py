"""Links between an account and a sign-in provider that wait in the session until the owner confirms them."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.http import HttpRequest

from dashboard.access.openid import find_provider
from dashboard.sign_in_providers import Provider
from jobs.people.identities import Claims

PENDING = "pending_link"
"""Session key."""
LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class PendingLink:
    """A link to confirm: the account `user`, and the identity at the provider of the person at this browser."""

    user: User
    provider: Provider
    claims: Claims


def keep_pending(request: HttpRequest, provider: Provider, claims: Claims, user: User, *, now: datetime) -> None:
    """Store a link until it is confirmed, replaced or expired."""
    until = (now + LIFETIME).isoformat()
    kept = {"provider": provider.key, "claims": asdict(claims), "user": user.pk, "until": until}
    request.session[PENDING] = kept


def find_pending(request: HttpRequest, *, now: datetime) -> PendingLink | None:
    """Return the pending link of this session if it is for the signed-in user or nobody is signed in, else None."""
    kept = request.session.get(PENDING)
    if not isinstance(kept, dict) or datetime.fromisoformat(kept["until"]) < now:
        return None
    if request.user.is_authenticated and request.user.pk != kept["user"]:
        return None
    provider, user = find_provider(kept["provider"]), User.objects.filter(pk=kept["user"], is_active=True).first()
    if provider is None or user is None:
        return None
    # The session is stored as JSON, which turned the tuple into a list.
    claims = Claims(**kept["claims"] | {"groups": tuple(kept["claims"]["groups"])})
    return PendingLink(user, provider, claims)


def forget_pending(request: HttpRequest) -> None:
    """Remove the pending link from this session, if any."""
    request.session.pop(PENDING, None)
