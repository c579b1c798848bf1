"""Select the claims of an OpenID Connect provider that are used, after signature and audience were checked."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from dashboard.sign_in_providers import Provider
from jobs.bounds import is_storable
from jobs.people.identities import Claims

GOOGLE = "https://accounts.google.com"
ENTRA_HOSTS = frozenset({"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"})
"""Hosts from which Microsoft Entra ID issues tokens, those of the national clouds included
(learn.microsoft.com/entra/identity-platform/authentication-national-cloud)."""
MAX_SUBJECT = 255


class BadClaims(Exception):
    """The claims identify nobody. The message is for the log."""


def read_claims(provider: Provider, signed: dict[str, Any]) -> Claims:
    """Return the claims that are used. The address is used only if the provider vouches for it.

    Google verifies addresses of other domains only at registration. It is the authority only for Gmail and for
    Workspace accounts, which have `hd` (developers.google.com/identity/openid-connect/openid-connect, "email"). Raise
    BadClaims.
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
    elsewhere = signed.get("_claim_names")  # Microsoft Entra sends this for people in more groups than fit into a token
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
    """Return whether the provider confirms that the address belongs to the person.

    Tokens of Microsoft Entra have no `email_verified`. Their optional claim `xms_edov` states whether the domain of the
    address has a verified owner. Without it, anybody who may write to the directory can claim any address
    (learn.microsoft.com/entra/identity-platform/optional-claims-reference and migrate-off-email-claim-authorization).
    An admin may list domains for which a provider without the claim is trusted.
    """
    if (claim := signed.get("email_verified")) is not None:
        return claim is True or claim == "true"
    if urlsplit(provider.issuer).hostname in ENTRA_HOSTS and (owned := signed.get("xms_edov")) is not None:
        return owned in (True, "true", "1")  # may also be a number: 1 equals True
    return not provider.verified_domains.isdisjoint({email.rpartition("@")[2].lower(), "*"})


def _text(value: object) -> str:
    """Return a text that fits a column, "" for anything else."""
    return value if isinstance(value, str) and is_storable(value) else ""
