"""One time limit for a whole call, including connecting, sending and reading.

requests only limits the pause between two bytes, so a server that sends a byte now and then could hold a worker for
ever. After a slow connect, requests would also send a request that its caller has already given up. With this module
nothing is sent after the time limit, and every write to and read from the socket, of headers and body, gets only the
remaining time.
"""

import io
import math
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPResponse
from typing import Any, cast

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

MAX_BYTES = 64 * 2**20
"""Maximum size of one answer. A page of a hundred jobs has well under one MiB."""


MAX_UNACKNOWLEDGED_MS = 10_000
"""A connection is dropped if sent bytes stay unacknowledged for this long, even after the call has ended."""
SOCKET_OPTIONS = [
    *HTTPConnection.default_socket_options,
    *([(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, MAX_UNACKNOWLEDGED_MS)] if sys.platform == "linux" else []),
]


class TooLate(TimeoutError):
    """The time limit of a call had passed before a part of it was sent."""


_ends_at: ContextVar[float] = ContextVar("ends_at", default=math.inf)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError from reads inside the block after `seconds`. An outer block may end sooner."""
    token = _ends_at.set(min(_ends_at.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _ends_at.reset(token)


def seconds_left() -> float:
    """Return the remaining time of the innermost `at_most`, at least a millisecond, or infinity outside of one."""
    return max(_ends_at.get() - time.monotonic(), 0.001)


class _BoundedReader(io.RawIOBase):
    """One answer's bytes from a socket, limited by the deadline and by `MAX_BYTES`."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._pause = sock.gettimeout()
        self._bytes_left = MAX_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = _ends_at.get() - time.monotonic()
        if left <= 0:
            raise TimeoutError("the call reached its time limit")
        if left < (self._pause or math.inf):
            self._socket.settimeout(left)
        try:
            count = self._raw.readinto(buffer)
        finally:
            self._socket.settimeout(self._pause)
        self._bytes_left -= count or 0
        if self._bytes_left < 0:
            raise OSError(f"the answer is longer than {MAX_BYTES} bytes")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedSocket:
    """The methods of a socket that http.client uses."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self._socket), 65_536)


class _BoundedResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(cast("socket.socket", _BoundedSocket(sock)), *args, **kwargs)


class _Connection(HTTPConnection):
    response_class = _BoundedResponse

    def send(self, data: Any) -> None:
        _prepare_to_send(self)
        super().send(data)


class _SecureConnection(HTTPSConnection):
    response_class = _BoundedResponse

    def send(self, data: Any) -> None:
        _prepare_to_send(self)
        super().send(data)


def _prepare_to_send(connection: HTTPConnection) -> None:
    """Connect if necessary, and set the socket's timeout to the remaining time of the call.

    Raise TooLate after the time limit. Nothing of this part has been sent then.
    """
    if connection.sock is None:
        connection.connect()
    left = _ends_at.get() - time.monotonic()
    if left <= 0:
        raise TooLate("the call reached its time limit before it was sent")
    if left < (connection.sock.gettimeout() or math.inf):
        connection.sock.settimeout(left)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class BoundedAdapter(HTTPAdapter):
    """The default adapter of requests, without retries, whose calls end within `at_most`."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the connection pools for direct connections."""
        kwargs |= {"socket_options": SOCKET_OPTIONS}
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """Create the connection pools behind a proxy."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        return manager
