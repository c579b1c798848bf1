"""Links between an account and a sign-in provider that wait in the session for their owner's word."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.http import HttpRequest

from dashboard.access.openid import find_provider
from dashboard.sign_in_providers import Provider
from jobs.people.identities import Claims

PENDING = "pending_link"
"""Key of the session."""
LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class PendingLink:
    """What would be linked: the account `user`, and who is at this browser by the provider."""

    user: User
    provider: Provider
    claims: Claims


def keep_pending(request: HttpRequest, provider: Provider, claims: Claims, user: User, *, now: datetime) -> None:
    """Keep a link until it is confirmed, replaced by another, or too old."""
    until = (now + LIFETIME).isoformat()
    kept = {"provider": provider.key, "claims": asdict(claims), "user": user.pk, "until": until}
    request.session[PENDING] = kept


def find_pending(request: HttpRequest, *, now: datetime) -> PendingLink | None:
    """Return the link that waits in this session for whoever is signed in, or for nobody; None where there is none."""
    kept = request.session.get(PENDING)
    if not isinstance(kept, dict) or datetime.fromisoformat(kept["until"]) < now:
        return None
    if request.user.is_authenticated and request.user.pk != kept["user"]:
        return None
    provider, user = find_provider(kept["provider"]), User.objects.filter(pk=kept["user"], is_active=True).first()
    if provider is None or user is None:
        return None
    # The session is kept as JSON, which has made a list of the tuple.
    claims = Claims(**kept["claims"] | {"groups": tuple(kept["claims"]["groups"])})
    return PendingLink(user, provider, claims)


def forget_pending(request: HttpRequest) -> None:
    """Forget the link that waits in this session, if any."""
    request.session.pop(PENDING, None)
