"""A bound on a whole call, however slowly its answer drips in.

requests limits only the pause between two bytes, so a server that sends one now and then would hold a worker for ever.
Here every read from the socket, of headers and body alike, also looks at what is left of the call's time and size.
"""

import io
import math
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPResponse
from typing import Any, cast

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

MOST_BYTES = 64 * 2**20
"""Of one answer. A page of a hundred jobs has well under one MiB."""

_ends_at: ContextVar[float] = ContextVar("ends_at", default=math.inf)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Let reads inside the block fail with TimeoutError once `seconds` have passed; an outer block may end sooner."""
    token = _ends_at.set(min(_ends_at.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _ends_at.reset(token)


def seconds_left() -> float:
    """Return what is left of the innermost `at_most`, never less than a millisecond; infinity outside of one."""
    return max(_ends_at.get() - time.monotonic(), 0.001)


class _BoundedReader(io.RawIOBase):
    """One answer's bytes from a socket, up to the deadline and to `MOST_BYTES`."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._pause = sock.gettimeout()
        self._bytes_left = MOST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = _ends_at.get() - time.monotonic()
        if left <= 0:
            raise TimeoutError("the call has used up its time")
        if left < (self._pause or math.inf):
            self._socket.settimeout(left)
        try:
            count = self._raw.readinto(buffer)
        finally:
            self._socket.settimeout(self._pause)
        self._bytes_left -= count or 0
        if self._bytes_left < 0:
            raise OSError(f"the answer is longer than {MOST_BYTES} bytes")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedSocket:
    """All of a socket that http.client asks for."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self._socket), 65_536)


class _BoundedResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(cast("socket.socket", _BoundedSocket(sock)), *args, **kwargs)


class _Connection(HTTPConnection):
    response_class = _BoundedResponse


class _SecureConnection(HTTPSConnection):
    response_class = _BoundedResponse


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class BoundedAdapter(HTTPAdapter):
    """The usual adapter of requests, without retries, whose answers are read within `at_most`."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools that requests goes through directly."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """Make the pools behind a proxy."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        return manager
