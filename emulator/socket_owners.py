"""The owner of a TCP connection of this machine: the user who owns the client's socket (Linux).

The kernel is asked for exactly one socket by `NETLINK_SOCK_DIAG` (linux/inet_diag.h, linux/sock_diag.h), which takes
about 20 microseconds whatever else is open. The alternative is to read the tables `/proc/net/tcp` and `tcp6` (proc(5)).
Both list a socket that no process holds any more (closed, or in TIME_WAIT) for user 0 with the inode 0: it has no
owner.
"""

import contextlib
import errno
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

Address = tuple[str, int]

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NLMSG_ERROR = 4, 20, 1, 2
HEADER, REQUEST, MESSAGE = struct.Struct("=LHHLL"), struct.Struct("=BBBBL"), struct.Struct("=BBBB")
SOCKET, COUNTS = struct.Struct("=2s2s16s16sLLL"), struct.Struct("=LLLLL")
NO_COOKIE = 0xFFFFFFFF
ANSWER_SECONDS = 1.0
TIME_WAIT, LISTEN = 6, 10
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
USER_MAP, OVERFLOW_USER = Path("/proc/self/uid_map"), Path("/proc/sys/kernel/overflowuid")
ALL_USERS = ["0", "0", "4294967295"]


class Lookup(Protocol):
    """Finds the owner of a connection."""

    def __call__(self, client: Address, server: Address) -> int | None:
        """Return the user id that owns the client's socket, None if there is none.

        Raise OSError if the lookup fails.
        """
        ...

    def close(self) -> None:
        """Close open files."""
        ...


class Row(NamedTuple):
    """One socket in the kernel's tables."""

    local: tuple[bytes, int]
    remote: tuple[bytes, int]
    state: int
    user: int
    inode: int

    @property
    def is_held(self) -> bool:
        """Whether a process holds the socket of a connection."""
        return self.inode != 0 and self.state not in (TIME_WAIT, LISTEN)


def packed(host: str) -> bytes:
    """Return an IP address as bytes, 4 for IPv4 even if it is mapped to IPv6. Raise ValueError if it is invalid."""
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).packed


# ---------------------------------------------------------------- one socket, by netlink
class Diagnosis:
    """A netlink socket that looks up one connection at a time. For one thread."""

    def __init__(self) -> None:
        """Open the socket. Raise OSError if the system does not support it."""
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG)
        self._netlink.settimeout(ANSWER_SECONDS)
        self._number = 0
        try:
            self._loopback = socket.if_nametoindex("lo")  # also finds a client that is bound to the interface
        except OSError:
            self._loopback = 0

    def __call__(self, client: Address, server: Address) -> int | None:
        """Return the owner of the client's socket. Raise OSError if the kernel gives no usable answer."""
        near, far = packed(client[0]), packed(server[0])
        if len(near) != len(far):
            return None
        row = self._ask((near, client[1]), (far, server[1]))
        is_it = row is not None and (row.local, row.remote) == ((near, client[1]), (far, server[1]))
        return row.user if row is not None and is_it and row.is_held else None

    def _ask(self, local: tuple[bytes, int], remote: tuple[bytes, int]) -> Row | None:
        self._number += 1
        family = socket.AF_INET if len(local[0]) == 4 else socket.AF_INET6
        ends = [struct.pack(">H", local[1]), struct.pack(">H", remote[1]), local[0], remote[0]]
        body = REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)  # in any state
        body += SOCKET.pack(*ends, self._loopback, NO_COOKIE, NO_COOKIE)
        length = HEADER.size + len(body)
        self._netlink.send(HEADER.pack(length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, self._number, 0) + body)
        while True:
            answer = self._netlink.recv(8192)
            _, kind, _, number, _ = HEADER.unpack_from(answer)
            if number == self._number:  # otherwise it is a late answer to an abandoned question
                return self._row(kind, answer[HEADER.size :])

    def _row(self, kind: int, body: bytes) -> Row | None:
        if kind == NLMSG_ERROR:
            code = -struct.unpack_from("=l", body)[0]
            if code == errno.ENOENT:
                return None
            raise OSError(code, "no answer about a socket")
        family, state, _, _ = MESSAGE.unpack_from(body)
        sport, dport, source, target, _, _, _ = SOCKET.unpack_from(body, MESSAGE.size)
        _, _, _, user, inode = COUNTS.unpack_from(body, MESSAGE.size + SOCKET.size)
        size = 4 if family == socket.AF_INET else 16
        local, remote = (packed(str(ipaddress.ip_address(part[:size]))) for part in (source, target))
        return Row((local, struct.unpack(">H", sport)[0]), (remote, struct.unpack(">H", dport)[0]), state, user, inode)

    def close(self) -> None:
        """Close the netlink socket."""
        self._netlink.close()


# ---------------------------------------------------------------- all sockets, from the tables
def _end(text: str) -> tuple[bytes, int]:
    """Return the address and port in `0100007F:1F90`: words of four bytes in the machine's order, then the port."""
    host, _, port = text.partition(":")
    words = bytes.fromhex(host)
    raw = b"".join(struct.pack(">L", *struct.unpack("=L", words[at : at + 4])) for at in range(0, len(words), 4))
    return packed(str(ipaddress.ip_address(raw))), int(port, 16)


def rows() -> Iterator[Row]:
    """Yield the rows of the kernel's tables of TCP sockets. Raise OSError if there are none."""
    for table in TABLES:
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(table.open())
            except FileNotFoundError:
                if table == TABLES[0]:
                    raise
                continue  # a system without IPv6
            next(file, "")
            for line in file:
                part = line.split()
                yield Row(_end(part[1]), _end(part[2]), int(part[3], 16), int(part[7]), int(part[9]))


class Tables:
    """Searches the tables of all sockets."""

    def __call__(self, client: Address, server: Address) -> int | None:
        """Return the owner of the client's socket according to the tables."""
        ends = (packed(client[0]), client[1]), (packed(server[0]), server[1])
        return next((row.user for row in rows() if (row.local, row.remote) == ends and row.is_held), None)

    def close(self) -> None:
        """Do nothing, because no file is open."""


def users_connected_to(port: int) -> set[int]:
    """Return the users with an open connection to a port on this machine's loopback addresses.

    Raise OSError if the system has no such tables.
    """
    loopback = (row for row in rows() if row.remote[1] == port and ipaddress.ip_address(row.remote[0]).is_loopback)
    return {row.user for row in loopback if row.is_held}


# ---------------------------------------------------------------- which of them works here
def lookup() -> Lookup | None:
    """Return the fastest lookup that works for a connection of our own, None if the system has none."""
    if not sys.platform.startswith("linux") or not _is_user_certain():
        return None
    for kind in (Diagnosis, Tables):
        with contextlib.suppress(OSError):  # not supported by the system: try the next one
            candidate: Lookup = kind()
            if _finds_own_socket(candidate):
                return candidate
            candidate.close()
    return None


def _finds_own_socket(find: Lookup) -> bool:
    """Return whether a lookup returns our user as the owner of a socket that we create."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        try:
            return find(client.getsockname(), server.getsockname()) == os.geteuid()
        except OSError:
            return False


def _is_user_certain() -> bool:
    """Return whether our user id is unique. In a user namespace, all users unknown to it have the same id."""
    try:
        everybody_else = int(OVERFLOW_USER.read_text())
        return os.geteuid() != everybody_else or USER_MAP.read_text().split() == ALL_USERS
    except (OSError, ValueError):
        return False
