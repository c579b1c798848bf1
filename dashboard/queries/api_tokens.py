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


PAGE = 100


def list_all_tokens(now: datetime, *, search: str = "", before: int | None = None) -> tuple[list[ApiToken], int | None]:
    """Return the valid tokens of people whose name begins with `search`, newest first, and where the next page begins.

    One query. `before` is the key that a page begins below.
    """
    tokens = ApiToken.objects.filter(revoked_at=None, expires_at__gt=now, owner__username__istartswith=search)
    if before is not None:
        tokens = tokens.filter(pk__lt=before)
    found = list(tokens.select_related("owner").order_by("-pk")[: PAGE + 1])
    return found[:PAGE], found[PAGE - 1].pk if len(found) > PAGE else None


def _state(token: ApiToken, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "valid" if token.expires_at > now else "expired"
