"""Addresses of clients and of pages: where a request comes from, and where it may redirect to."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

PREFIX_OF_ONE_SITE = 64
"""Bits of an IPv6 address that identify a network. One site has all addresses in its network (RFC 6177, RFC 4291
2.5.4)."""


def client_address(request: HttpRequest) -> str | None:
    """Return the address under which failed sign-ins are counted. None if there is none, as behind a Unix socket.

    Behind the proxy that TRAINBOARD_HTTPS declares, this is the last entry of X-Forwarded-For, which that proxy wrote.
    Earlier entries, and the whole header if there is no proxy, are only claims of the client. An IPv6 address is
    shortened to its network.
    """
    direct = request.META.get("REMOTE_ADDR", "")
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.SECURE else ""
    return _normalized(forwarded.rpartition(",")[2]) or _normalized(direct)


def safe_path(request: HttpRequest, wanted: str) -> str:
    """Return the address that a person wants to continue to if it belongs to this site, else that of the board."""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_ours else "/"


def absolute_url(request: HttpRequest, path: str) -> str:
    """Return a path as an absolute URL: below TRAINBOARD_URL, else below the host of this request."""
    return f"{settings.SITE_URL.rstrip('/')}{path}" if settings.SITE_URL else request.build_absolute_uri(path)


def _normalized(text: str) -> str | None:
    """Return an address without port, zone and brackets. None if the text is not an address."""
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
        if address.ipv4_mapped is not None:  # a dual-stack socket reports IPv4 clients like this
            return str(address.ipv4_mapped)
        if not address.is_loopback:
            return str(ip_network((address, PREFIX_OF_ONE_SITE), strict=False).network_address)
    return str(address)
