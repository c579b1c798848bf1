"""Whether this site is a rehearsal that only people at this machine can reach.

Only then may an account have the demo's public password. `reasons_against` checks the settings, `refusal` a single
request.
"""

import ipaddress
import os
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest

from emulator import socket_owners

PASSWORD = "trainboard"  # noqa: S105 - printed by `make up`
NAMES = ("engineer", "approver", "lead", "stranger", "admin")
EMULATOR = "http://127.0.0.1"
"""Placeholder for the address of the emulator that `up` is about to start."""
WHAT_TO_DO = "Set another password for each (manage.py changepassword NAME), or close them (manage.py demo --close)."

PROXIES = frozenset(
    "HTTP_FORWARDED HTTP_VIA HTTP_X_REAL_IP HTTP_X_CLIENT_IP HTTP_CLIENT_IP HTTP_TRUE_CLIENT_IP HTTP_CDN_LOOP".split()
)
PROXY_PREFIXES = ("HTTP_X_FORWARDED", "HTTP_X_ORIGINAL_", "HTTP_X_PROXY", "HTTP_X_ENVOY_", "HTTP_X_AMZN_", "HTTP_CF_")
"""Headers that reveal a proxy (RFC 7239, RFC 9110 section 7.6.3, and common practice)."""


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine and is not reachable from elsewhere."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def reasons_against(*, host: str = "localhost", endpoint: str | None = None) -> list[str]:
    """Return why this is not a rehearsal for people of this machine only, as sentences without a full stop.

    Return [] if it is one. `host` is the address on which the site listens, if known. `endpoint` is that of Vertex AI,
    by default the one in the settings.
    """
    endpoint = settings.VERTEX_ENDPOINT if endpoint is None else endpoint
    names = [name for name in settings.ALLOWED_HOSTS if not is_loopback(name)]
    elsewhere = [name for name in _database_hosts() if not is_loopback(name)]
    checks = {
        f"the site listens on {host}": not is_loopback(host),
        "TRAINBOARD_HTTPS is on": settings.SECURE,
        f"TRAINBOARD_HOSTS has {', '.join(names)}": names,
        "TRAINBOARD_ORIGINS is set": settings.CSRF_TRUSTED_ORIGINS,
        "jobs go to the real Vertex AI": not endpoint,
        "TRAINBOARD_VERTEX_ENDPOINT is not on this machine": endpoint and not _is_here(endpoint),
        **{
            f"TRAINBOARD_{name} is not on this machine": url and not _is_here(url)
            for name in ("LOGGING_ENDPOINT", "STORAGE_ENDPOINT", "MONITORING_ENDPOINT")
            for url in [getattr(settings, name)]
        },
        f"the database is on {', '.join(elsewhere)}, where other sites can use it": elsewhere,
    }
    return [reason for reason, holds in checks.items() if holds]


def _is_here(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def _database_hosts() -> list[str]:
    """Return the hosts of the database, [] for a file or a Unix socket."""
    database = settings.DATABASES["default"]
    options: dict[str, Any] = database.get("OPTIONS") or {}
    given = [database.get("HOST"), options.get("host"), options.get("hostaddr")]
    hosts = [host for each in given if each for host in str(each).split(",")]
    service = [f"the service {options['service']}"] if options.get("service") else []
    return [host for host in hosts if not host.startswith("/")] + service


def refusal(request: HttpRequest) -> str:
    """Return why the demo's password is refused for this request, "" if it is accepted."""
    if reasons := reasons_against():
        return reasons[0]
    if any(name in PROXIES or name.startswith(PROXY_PREFIXES) for name in request.META):
        return "the request came through a proxy"
    if not is_loopback(request.META.get("REMOTE_ADDR", "")):
        return "the request came from another machine"
    try:
        host = urlsplit(f"//{request.get_host()}").hostname or ""
    except (DisallowedHost, ValueError):
        host = ""
    return "" if is_loopback(host) else "the request has another host name"


def refusal_of_others(request: HttpRequest) -> str:
    """Return why nobody can sign in with the demo's password now, "" if it is accepted.

    It is refused while another user of this machine is connected to the site, because a job runs as the user who
    started the site. WSGI does not provide the client's port, so every open connection counts; a person who signs in
    has one until the response arrives. If the system does not report the owners of connections (macOS), nothing is
    refused.
    """
    try:
        others = socket_owners.users_connected_to(int(request.META.get("SERVER_PORT") or 0)) - {os.geteuid()}
    except OSError:
        return ""
    return "another user of this machine is connected to the site" if others else ""
