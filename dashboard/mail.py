"""Django's e-mail settings from the URL of an SMTP server."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PORTS = {"smtp": 25, "smtps": 465}
TIMEOUT_SECONDS = 10
"""Timeout of each wait for the SMTP server."""
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def email_settings(name: str, url: str) -> dict[str, Any]:
    """Return Django's EMAIL_* settings for `smtp://user:password@host:port/?tls=1`. With "" nothing is sent.

    `smtps://` uses TLS from the start, `?tls=1` uses STARTTLS. User and password are percent-encoded if they contain
    `:`, `@` or `/`. Raise ImproperlyConfigured, which names the variable and never the password.
    """
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    try:
        parts = urlsplit(url)
        port, options = (
            parts.port,
            dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))),
        )
    except ValueError:
        raise ImproperlyConfigured(f"{name} is no address: write smtp://user:password@host:port/?tls=1.") from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path not in ("", "/") or parts.fragment:
        raise ImproperlyConfigured(f"{name} must be smtp://user:password@host:port/?tls=1, or smtps:// for TLS.")
    tls = options.pop("tls", "0").lower()
    if options or tls not in (*YES, *NO):
        raise ImproperlyConfigured(f"{name} has an option that is not known: only tls=1 and tls=0 are.")
    if tls in YES and parts.scheme == "smtps":
        raise ImproperlyConfigured(f"{name} has both smtps and tls=1: smtps speaks TLS already.")
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or (587 if tls in YES else PORTS[parts.scheme]),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": tls in YES,
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": TIMEOUT_SECONDS,
    }


def site_url(name: str, url: str) -> str:
    """Return the site's own URL without a trailing slash. Raise ImproperlyConfigured if it is invalid."""
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise ImproperlyConfigured(f"{name}={url!r} is no address: write https://trainboard.example.org.")
    return url.rstrip("/")
