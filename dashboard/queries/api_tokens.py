"""Tokens of a person."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from jobs.models import ApiToken
from jobs.requests.api_tokens import MAX_ENDED, MAX_TOKENS


@dataclass(frozen=True, slots=True)
class TokenLine:
    """A token with its state: "valid", "expired" or "revoked"."""

    token: ApiToken
    state: str


def list_tokens(user: User, now: datetime) -> list[TokenLine]:
    """Return the person's tokens, newest first, as many as are kept. One query."""
    tokens = ApiToken.objects.filter(owner=user).order_by("-created_at", "-pk")[: MAX_TOKENS + MAX_ENDED]
    return [TokenLine(token, _state(token, now)) for token in tokens]


def _state(token: ApiToken, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "valid" if token.expires_at > now else "expired"
