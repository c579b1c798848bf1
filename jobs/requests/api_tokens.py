"""Personal API tokens: create, revoke and authenticate them."""

from collections.abc import Collection
from datetime import datetime, timedelta
from secrets import token_urlsafe

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.bounds import digest_of
from jobs.errors import NotPermitted
from jobs.models import ApiToken
from jobs.permissions import check_is_admin

SCOPES = {
    "read": gettext_lazy("Read jobs, logs, estimates and prices"),
    "submit": gettext_lazy("Request and cancel jobs"),
    "approve": gettext_lazy("Approve and reject jobs"),
}
"""What a token may do. It may never do more than its owner."""
MAX_TOKENS = 20
"""Valid tokens that one person may have at the same time."""
MAX_ENDED = 20
"""Expired and revoked tokens of one person that are still listed."""
MAX_LIFETIME = timedelta(days=366)
MAX_CHARACTERS = 200
PREFIX = "tb_"
"""Prefix of every token, so that secret scanners can recognize one."""
USE_INTERVAL = timedelta(minutes=1)
"""Shortest time between two updates of `last_used_at`."""


def create_token(
    by: User, *, name: str, scopes: Collection[str], lifetime: timedelta, now: datetime
) -> tuple[ApiToken, str]:
    """Create a token of `by`. Return its row and its text, which is not stored.

    Raise NotPermitted if the person has MAX_TOKENS valid ones. Raise ValueError for unknown scopes or lifetimes.
    """
    if not scopes or not set(scopes) <= SCOPES.keys() or not timedelta() < lifetime <= MAX_LIFETIME:
        raise ValueError(_("A token needs a scope, and ends within a year."))
    text = PREFIX + token_urlsafe(32)
    with transaction.atomic():
        list(User.objects.select_for_update().filter(pk=by.pk))  # one at a time, so that the count is correct
        mine = ApiToken.objects.filter(owner=by)
        if mine.filter(_valid(now)).count() >= MAX_TOKENS:
            raise NotPermitted(
                _("You have %(limit)s valid tokens. Revoke one that is no longer used.") % {"limit": MAX_TOKENS}
            )
        kept = mine.exclude(_valid(now)).order_by("-created_at").values_list("pk", flat=True)[:MAX_ENDED]
        mine.exclude(_valid(now)).exclude(pk__in=list(kept)).delete()
        token = ApiToken.objects.create(
            owner=by,
            name=name,
            digest=digest_of(text),
            hint=text[:8],
            scopes=[scope for scope in SCOPES if scope in scopes],
            created_at=now,
            expires_at=now + lifetime,
        )
    return token, text


def revoke_token(by: User, pk: int, *, now: datetime) -> ApiToken | None:
    """Revoke a token of `by` and return it, or None if they have no such token. Revoking it again changes nothing."""
    token = ApiToken.objects.filter(owner=by, pk=pk).first()
    if token is not None and token.revoked_at is None:
        token.revoked_at = now
        token.save(update_fields=["revoked_at"])
    return token


def revoke_token_of_other(by: User, pk: int, *, now: datetime) -> ApiToken | None:
    """Revoke anybody's token and return it, None if there is none. Raise NotPermitted unless `by` is a site admin."""
    check_is_admin(by)
    token = ApiToken.objects.select_related("owner").filter(pk=pk).first()
    return token and revoke_token(token.owner, pk, now=now)


def revoke_tokens(owner: User, *, now: datetime) -> int:
    """Revoke every valid token of a person; return how many. Each is saved by itself, so that the audit log has it."""
    tokens = list(ApiToken.objects.filter(_valid(now), owner=owner))
    for token in tokens:
        token.revoked_at = now
        token.save(update_fields=["revoked_at"])
    return len(tokens)


def authenticate_token(text: str, *, now: datetime) -> ApiToken | None:
    """Return the valid token with this text and its owner, and record its use. Return None for any other text."""
    if not text.startswith(PREFIX) or len(text) > MAX_CHARACTERS:
        return None
    valid = ApiToken.objects.filter(_valid(now), digest=digest_of(text), owner__is_active=True)
    token = valid.select_related("owner").first()
    if token is not None and (token.last_used_at is None or token.last_used_at <= now - USE_INTERVAL):
        unused = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_INTERVAL)
        ApiToken.objects.filter(unused, pk=token.pk).update(last_used_at=now)
    return token


def _valid(now: datetime) -> Q:
    return Q(revoked_at=None, expires_at__gt=now)
