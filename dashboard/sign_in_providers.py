"""OpenID Connect providers for sign-in, configured by environment variables.

`TRAINBOARD_OIDC` lists their keys. The variables of each begin with `TRAINBOARD_OIDC_` and its key in capitals.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.core.exceptions import ImproperlyConfigured

from jobs.people.openid import SUFFIX, is_safe_address

KEY = re.compile(r"[a-z][a-z0-9-]{0,30}")
GOOGLE = {"ISSUER": "https://accounts.google.com", "NAME": "Google"}
"""Defaults for the provider with the key `google`."""
SCOPES = "openid email profile"


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. `key` identifies it in URLs, `name` on pages. `issuer` has no trailing slash."""

    key: str
    name: str
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: str = SCOPES
    groups_claim: str = "groups"
    domains: frozenset[str] = frozenset()
    """Domains whose people get an account without a rule or an invitation. `*` means all."""
    trusted_domains: frozenset[str] = frozenset()
    """Domains for which an existing account is linked to the provider's identity with the same address."""
    verified_domains: frozenset[str] = frozenset()
    """Domains whose addresses are accepted without the provider's claim that it has verified them. `*` means all."""


def read_providers(keys: Sequence[str], text: Callable[[str, str], str]) -> tuple[Provider, ...]:
    """Return the providers with these keys. `text(name, default)` reads a variable. Raise ImproperlyConfigured."""
    found = tuple(_provider(key, text) for key in keys)
    for what in ("key", "issuer"):
        if len({getattr(each, what) for each in found}) < len(found):
            raise ImproperlyConfigured(f"TRAINBOARD_OIDC names two providers with the same {what}.")
    return found


def check_ways(providers: Sequence[Provider], *, has_passwords: bool, has_proxy: bool) -> None:
    """Raise ImproperlyConfigured if nobody could sign in, or if providers are set behind Identity-Aware Proxy."""
    if has_proxy and providers:
        raise ImproperlyConfigured("Set TRAINBOARD_IAP_AUDIENCE or TRAINBOARD_OIDC: the proxy alone signs people in.")
    if not (has_passwords or has_proxy or providers):
        raise ImproperlyConfigured("TRAINBOARD_PASSWORD_SIGN_IN=0 needs a provider in TRAINBOARD_OIDC.")


def _provider(key: str, text: Callable[[str, str], str]) -> Provider:
    if not KEY.fullmatch(key):
        raise ImproperlyConfigured(f"TRAINBOARD_OIDC names {key!r}: a key has small letters, digits and hyphens.")
    prefix = f"TRAINBOARD_OIDC_{key.upper().replace('-', '_')}_"
    known = GOOGLE if key == "google" else {"NAME": key.replace("-", " ").capitalize()}

    def value(name: str, default: str = "") -> str:
        return text(prefix + name, known.get(name, default))

    issuer = value("ISSUER").removesuffix(SUFFIX).rstrip("/")
    if not is_safe_address(issuer):
        raise ImproperlyConfigured(f"{prefix}ISSUER must be an address with https, such as https://id.example.com.")
    if not (value("CLIENT_ID") and value("CLIENT_SECRET")):
        raise ImproperlyConfigured(f"{prefix}CLIENT_ID and {prefix}CLIENT_SECRET have to be set.")
    scopes = value("SCOPES", SCOPES).replace(",", " ").split()
    return Provider(
        key=key,
        name=value("NAME"),
        issuer=issuer,
        client_id=value("CLIENT_ID"),
        client_secret=value("CLIENT_SECRET"),
        scopes=" ".join(dict.fromkeys(["openid", *scopes])),
        groups_claim=value("GROUPS_CLAIM", text("TRAINBOARD_GROUPS_CLAIM", "groups")),
        domains=_domains(value("DOMAINS")),
        trusted_domains=_domains(value("TRUSTED_DOMAINS")),
        verified_domains=_domains(value("VERIFIED_DOMAINS")),
    )


def _domains(text: str) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in text.split(",") if word.strip())
