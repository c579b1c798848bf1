"""Which claims of an OpenID Connect provider count, once its signature and its audience are checked."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from dashboard.sign_in_providers import Provider
from jobs.bounds import is_storable
from jobs.people.identities import Claims

GOOGLE = "https://accounts.google.com"
ENTRA_HOSTS = frozenset({"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"})
"""Where Microsoft Entra ID issues tokens; the national clouds have hosts of their own
(learn.microsoft.com/entra/identity-platform/authentication-national-cloud)."""
MAX_SUBJECT = 255


class BadClaims(Exception):
    """The claims name nobody; the message is for the log."""


def read_claims(provider: Provider, signed: dict[str, Any]) -> Claims:
    """Return what counts of the claims: an address only where the provider answers for it.

    Google verifies addresses of other domains once, at the registration, and is the authority only for Gmail and for
    Workspace accounts, which have `hd` (developers.google.com/identity/openid-connect/openid-connect, "email").
    Raises BadClaims.
    """
    subject, email = _text(signed.get("sub")), _text(signed.get("email"))
    if not 0 < len(subject) <= MAX_SUBJECT:
        raise BadClaims("the ID token names no usable subject")
    is_google = provider.issuer == GOOGLE
    hosted = _text(signed.get("hd")) if is_google else ""
    if not _answers_for(provider, signed, email) or (is_google and not hosted and not email.endswith("@gmail.com")):
        email = hosted = ""
    groups = signed.get(provider.groups_claim)
    listed = [groups] if isinstance(groups, str) else groups
    elsewhere = signed.get("_claim_names")  # of Microsoft Entra, for people in more groups than a token holds
    claims = Claims(
        provider=provider.issuer,
        subject=subject,
        email=email,
        hosted_domain=hosted,
        groups=tuple(filter(None, map(_text, listed))) if isinstance(listed, list) else (),
        name=_text(signed.get("name")),
        knows_groups=not (isinstance(elsewhere, dict) and provider.groups_claim in elsewhere),
        trusts_address=email.rpartition("@")[2].lower() in provider.trusted_domains,
    )
    return replace(claims, may_create=not provider.domains.isdisjoint({claims.domain, "*"}))


def _answers_for(provider: Provider, signed: dict[str, Any], email: str) -> bool:
    """Return whether the provider answers for the address being the person's.

    Tokens of Microsoft Entra have no `email_verified`. Their optional claim `xms_edov` is whether the owner of the
    address's domain is verified; without it whoever may write the directory may claim any address
    (learn.microsoft.com/entra/identity-platform/optional-claims-reference and migrate-off-email-claim-authorization).
    An admin may name domains for which a provider without the claim is believed.
    """
    if (claim := signed.get("email_verified")) is not None:
        return claim is True or claim == "true"
    if urlsplit(provider.issuer).hostname in ENTRA_HOSTS and (owned := signed.get("xms_edov")) is not None:
        return owned in (True, "true", "1")  # as a number too: 1 equals True
    return not provider.verified_domains.isdisjoint({email.rpartition("@")[2].lower(), "*"})


def _text(value: object) -> str:
    """Return a text that a column holds, "" for anything else."""
    return value if isinstance(value, str) and is_storable(value) else ""
