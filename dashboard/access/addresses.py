"""Addresses: where a request comes from, as far as it can be believed, and where it may lead."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

PREFIX_OF_ONE_SITE = 64
"""Bits of an IPv6 address that name a network; who has one has all addresses in it (RFC 6177, RFC 4291 2.5.4)."""


def client_address(request: HttpRequest) -> str | None:
    """Return the address that failed sign-ins are counted for; None where there is none, as behind a Unix socket.

    Behind the proxy that TRAINBOARD_HTTPS stands for, it is the last entry of X-Forwarded-For, the one that this proxy
    wrote; everything before it, and the whole header where there is no proxy, is what the client claims. An IPv6
    address is cut to its network.
    """
    direct = request.META.get("REMOTE_ADDR", "")
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.SECURE else ""
    return _normalized(forwarded.rpartition(",")[2]) or _normalized(direct)


def safe_path(request: HttpRequest, wanted: str) -> str:
    """Return the address that a person wants to go on to if it is one of this site, else that of the board."""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_ours else "/"


def absolute_url(request: HttpRequest, path: str) -> str:
    """Return a path as people reach it: at TRAINBOARD_URL, else where this request came."""
    return f"{settings.SITE_URL.rstrip('/')}{path}" if settings.SITE_URL else request.build_absolute_uri(path)


def _normalized(text: str) -> str | None:
    """Return an address without port, zone and brackets; None for text that is none."""
    text = text.strip()
    if text.startswith("["):  # [2001:db8::1]:443
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:  # 192.0.2.1:443
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:  # how a socket for both families names a client that uses IPv4
            return str(address.ipv4_mapped)
        if not address.is_loopback:
            return str(ip_network((address, PREFIX_OF_ONE_SITE), strict=False).network_address)
    return str(address)
