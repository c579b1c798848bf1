"""Verify the signed header that Google Identity-Aware Proxy adds to each request, and load the keys for that.

Source: cloud.google.com/iap/docs/signed-headers-howto: the algorithm is ES256, `aud` is that of the backend or app,
`iss` is https://cloud.google.com/iap, `exp` and `iat` allow 30 seconds of skew, and `hd` is set for Google Workspace
accounts.
"""

import logging
import threading
import time
from typing import Any

import requests
from django.conf import settings
from google.auth import jwt
from google.auth.exceptions import GoogleAuthError

from jobs.people.identities import Claims

log = logging.getLogger(__name__)
HEADER = "HTTP_X_GOOG_IAP_JWT_ASSERTION"
ISSUER = "https://cloud.google.com/iap"
ALGORITHM = "ES256"
MAX_CHARACTERS = 16_000
MAX_KEYS_BYTES = 100_000
SKEW_SECONDS = 30
KEYS_SECONDS = 3600
"""How long keys are used before they are loaded again. An unknown key loads them earlier, but not more often than
RETRY_SECONDS."""
RETRY_SECONDS = 30
PROVIDER = "iap"


class NotVerified(Exception):
    """The request has no header that the proxy signed for this site. The message is for the log."""


class NoKeys(Exception):
    """The proxy's keys could not be loaded, so nobody can be identified."""


class Keys:
    """The proxy's public keys, shared by the threads of a process."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}
        self._url, self._asked_at, self._good_until = "", 0.0, 0.0
        self._lock = threading.Lock()

    def find(self, key_id: str, url: str) -> str:
        """Return the key in PEM. Raise NotVerified if the proxy has no such key, NoKeys if no keys could be loaded.

        Old keys are used while newer ones cannot be loaded.
        """
        with self._lock:
            now = time.monotonic()
            is_other = url != self._url
            is_wanted = now >= self._good_until or key_id not in self._keys
            if is_other or (is_wanted and now >= self._asked_at + RETRY_SECONDS):
                self._url, self._asked_at = url, now
                self._load(url, now, keeps=not is_other)
            if not self._keys:
                raise NoKeys(f"no keys from {url}")
            if key_id not in self._keys:
                raise NotVerified("signed with an unknown key")
            return self._keys[key_id]

    def _load(self, url: str, now: float, *, keeps: bool) -> None:
        if not keeps:
            self._keys = {}
        try:
            answer = requests.get(url, timeout=(3, 5), allow_redirects=False)
            is_usable = answer.status_code == requests.codes.ok and len(answer.content) <= MAX_KEYS_BYTES
            found = answer.json() if is_usable else None
        # Invalid JSON raises a RequestException; JSON that is nested too deeply raises RecursionError.
        except (requests.RequestException, RecursionError) as error:
            log.warning("the keys of Identity-Aware Proxy could not be read: %s", error)
            return
        if not found or not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            log.warning("the keys of Identity-Aware Proxy were answered with %s and no keys", answer.status_code)
            return
        self._keys, self._good_until = found, now + KEYS_SECONDS


_keys = Keys()


def verify(token: str) -> Claims:
    """Return the claims about the person that the proxy signed.

    Raise NotVerified if the proxy did not sign the token for this site, or not for the current time. Raise NoKeys if
    that cannot be checked.
    """
    payload = _verified(token)
    subject, email = payload.get("sub"), payload.get("email")
    if not isinstance(subject, str) or not subject or len(subject) > 255:
        raise NotVerified("names no subject")
    if not isinstance(email, str) or not email:
        raise NotVerified("names no e-mail address")
    domain, groups = payload.get("hd"), payload.get(settings.GROUPS_CLAIM)
    return Claims(
        provider=PROVIDER,
        subject=subject,
        email=email,
        hosted_domain=domain if isinstance(domain, str) else "",
        groups=tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else (),
    )


def _verified(token: str) -> dict[str, Any]:
    """Return the payload of a token. Only our algorithm is accepted, whatever the token's header names."""
    if not token or len(token) > MAX_CHARACTERS:
        raise NotVerified("has no header of Identity-Aware Proxy" if not token else "is too long")
    try:
        header = jwt.decode_header(token)
        if header.get("alg") != ALGORITHM or not isinstance(header.get("kid"), str):
            raise NotVerified("is not signed with ES256 and a named key")
        key = _keys.find(header["kid"], settings.IAP_KEYS_URL)
        payload = dict(
            jwt.decode(token, {header["kid"]: key}, audience=settings.IAP_AUDIENCE, clock_skew_in_seconds=SKEW_SECONDS)
        )
    except (GoogleAuthError, ValueError, TypeError, RecursionError) as error:
        raise NotVerified(str(error)[:200]) from None
    if payload.get("iss") != ISSUER:
        raise NotVerified("is not from Identity-Aware Proxy")
    return payload
