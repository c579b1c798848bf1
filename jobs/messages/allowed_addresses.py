"""Restrict messages to public addresses, checked after the name was resolved.

An address is public if it is not in IANA's registries of special addresses, as Python's `ipaddress` knows them
(`is_global`). If it contains an IPv4 address (mapped, 6to4, Teredo, NAT64 of RFC 6052), that has to be public too. The
metadata server 169.254.169.254 is link-local, so it is refused.
"""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]
MAX_LENGTH = 1_000
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
NEVER = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "64:ff9b:1::/48", "5f00::/16")))
"""Protocol assignments (RFC 6890), local NAT64 (RFC 8215), segment routing (RFC 9602). Python 3.11 does not know all of
them."""


class NotReachable(Exception):
    """The address is not allowed or cannot be resolved; the message is for people and names no internal address."""


@dataclass(frozen=True, slots=True)
class Target:
    """A checked address to connect to, with the name that TLS verifies and that the Host header has."""

    is_secure: bool
    name: str
    port: int
    path: str
    ip: str

    @property
    def host(self) -> str:
        """The Host header."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port == (443 if self.is_secure else 80) else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The URL with the IP address in place of the name."""
        ip = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{'https' if self.is_secure else 'http'}://{ip}:{self.port}{self.path}"


def resolve_name(name: str, port: int) -> list[str]:
    """Return the IP addresses of a name. Raise NotReachable if it has none."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotReachable(_("The name of the server cannot be resolved.")) from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def check_url(url: str, *, allows_loopback: bool) -> tuple[bool, str, int, str]:
    """Return (is https, host name, port, path with query). Raise NotReachable if the URL is not allowed.

    The name is not resolved. http is allowed only to a loopback address, and only if the site allows loopback.
    """
    try:
        parts = urlsplit(url)
        port, name = parts.port, parts.hostname or ""
    except ValueError:
        raise NotReachable(_("This is not the address of a web server.")) from None
    if len(url) > MAX_LENGTH or not url.isascii() or not url.isprintable() or any(each in url for each in " \\"):
        raise NotReachable(_("The address is too long or has characters that an address cannot have."))
    if parts.scheme != "https" and not (parts.scheme == "http" and allows_loopback):
        raise NotReachable(_("The address must begin with https://."))
    if not name or parts.username is not None or parts.password is not None or port == 0:
        raise NotReachable(_("The address must be https://name/path, without a user."))
    is_secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return is_secure, name, port or (443 if is_secure else 80), path


def target_of(url: str, *, allows_loopback: bool, resolve: Resolve = resolve_name) -> Target:
    """Return the target of a URL. Raise NotReachable unless every address of its name is allowed."""
    is_secure, name, port, path = check_url(url, allows_loopback=allows_loopback)
    ips = resolve(name, port)
    if not ips:
        raise NotReachable(_("The name of the server cannot be resolved."))
    loopback = [is_loopback(ip) for ip in ips]
    if allows_loopback and all(loopback):
        return Target(is_secure, name, port, path, ips[0])
    if not is_secure:
        raise NotReachable(_("The address must begin with https://."))
    if not all(is_public(ip) for ip in ips):
        raise NotReachable(_("The server has an internal address. Messages go to addresses on the internet only."))
    return Target(is_secure, name, port, path, ips[0])


def is_public(text: str) -> bool:
    """Return whether an IP address is public, and so is every address that it contains."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return all(map(_is_global, (address, *_carried(address))))


def is_loopback(text: str) -> bool:
    """Return whether an IP address is a loopback address."""
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


def _is_global(address: IpAddress) -> bool:
    if any(address in network for network in NEVER):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id or address.is_site_local:
            return False
        # The address that these contain decides. Python before 3.11.4 calls every 6to4 address private.
        if address.ipv4_mapped is not None or address.sixtofour is not None or address in NAT64:
            return True
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _carried(address: IpAddress) -> Iterator[IpAddress]:
    if not isinstance(address, ipaddress.IPv6Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in NAT64:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
