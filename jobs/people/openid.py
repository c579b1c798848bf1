"""Read discovery documents of OpenID Connect providers, within limits, and return what a sign-in needs.

Source: OpenID Connect Discovery 1.0, sections 3 and 4. The document is at the issuer plus `SUFFIX`, and names the same
issuer.
"""

from typing import Any
from urllib.parse import urlsplit

import requests

from jobs.vertex.deadline import BoundedAdapter, at_most

SUFFIX = "/.well-known/openid-configuration"
MAX_SECONDS = 5.0
"""Limit for all calls to a provider during one request of a browser."""
MAX_BYTES = 500_000
"""Limit of one answer of a provider."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
SIGNATURES = tuple("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split())
"""Algorithms with a public key. Tokens signed with others are refused, whatever a provider names."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class NotReadable(Exception):
    """A provider's document cannot be used; the message gives the reason."""


def is_safe_address(url: object) -> bool:
    """Return whether a URL uses HTTPS, or points to this machine."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return False
    if parts is None or not parts.hostname or parts.fragment or parts.username is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def read_metadata(issuer: str) -> dict[str, Any]:
    """Return issuer, endpoints, and the algorithms that may sign ID tokens.

    Raise NotReadable if the document cannot be used.

    `issuer` has no trailing slash; the one in the document may have one.
    """
    found = _document(issuer + SUFFIX)
    if not isinstance(found.get("issuer"), str) or found["issuer"].rstrip("/") != issuer:
        raise NotReadable(f"It names an issuer other than {issuer}.")
    if missing := [name for name in ENDPOINTS if not is_safe_address(found.get(name))]:
        raise NotReadable(f"It has no usable {missing[0]}.")
    named = found.get("id_token_signing_alg_values_supported")
    usable = [each for each in SIGNATURES if isinstance(named, list) and each in named]
    metadata = {name: found[name] for name in ("issuer", *ENDPOINTS)}
    metadata["id_token_signing_alg_values_supported"] = usable or ["RS256"]
    if is_safe_address(found.get("userinfo_endpoint")):
        metadata["userinfo_endpoint"] = found["userinfo_endpoint"]
    methods = found.get("token_endpoint_auth_methods_supported")
    if isinstance(methods, list) and "client_secret_basic" not in methods and "client_secret_post" in methods:
        metadata["token_endpoint_auth_method"] = "client_secret_post"  # noqa: S105 - no password
    return metadata


def _document(url: str) -> dict[str, Any]:
    try:
        with requests.Session() as session, at_most(MAX_SECONDS):
            session.mount("https://", BoundedAdapter())
            session.mount("http://", BoundedAdapter())
            answer = session.get(url, timeout=MAX_SECONDS, allow_redirects=False)
            found = answer.json() if answer.status_code == requests.codes.ok else None
    except (ValueError, RecursionError):
        raise NotReadable(f"{url} did not return JSON.") from None
    except (requests.RequestException, OSError) as error:
        raise NotReadable(f"{url} could not be read: {type(error).__name__}.") from None
    if not isinstance(found, dict) or len(answer.content) > MAX_BYTES:
        raise NotReadable(f"{url} returned status {answer.status_code} and no discovery document.")
    return found
