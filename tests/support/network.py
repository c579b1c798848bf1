"""Blocks access to the internet in tests. Only loopback and Unix sockets can be reached."""

import ipaddress
import sys
from typing import Any

NAMES = {"", "localhost", "ip6-localhost"}


class SocketClosed(OSError):
    """A test tried to connect to another machine."""


def close() -> None:
    """Block connections to and look-ups of anything but loopback, permanently in this process."""
    sys.addaudithook(_watch)


def is_loopback(host: object) -> bool:
    """Return whether `host`, a name or an address as sockets accept it, is this machine."""
    if host is None:
        return True
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in NAMES:
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0].removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if not is_loopback(host):
        raise SocketClosed(f"tests may not reach {host!r}: sockets are closed except to loopback")
