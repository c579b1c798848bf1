"""A minimal HTTP/1.1 load balancer with persistent connections."""

import asyncio
import gzip
import logging
import re
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
MAX_IDLE_SECONDS = 5.0


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def request_bytes(verb: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return a request as the bytes to send."""
    lines = [f"{verb} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


class Connection:
    """A connection to a server on loopback, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.used_at = time.monotonic()

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect. Raise OSError if nothing listens on the port."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and return (status, decompressed body). Raise EOFError if the server closes before the end."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        body = await self._reader.readexactly(int(length[1]) if length else 0)
        self.used_at = time.monotonic()
        is_packed = b"\r\ncontent-encoding: gzip\r\n" in head.lower()
        return int(head.split(b" ", 2)[1]), gzip.decompress(body) if is_packed else body

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


@dataclass
class Web:
    """A web process and its connections. `is_open` is whether it gets requests."""

    port: int
    process: "subprocess.Popen[bytes]"
    is_open: bool = True
    in_flight: int = 0
    idle: list[Connection] = field(default_factory=list)

    def connection(self) -> Connection | None:
        """Return an open idle connection, or None.

        Connections idle for too long are closed before the server does so.
        """
        while self.idle:
            connection = self.idle.pop()
            if time.monotonic() - connection.used_at < MAX_IDLE_SECONDS:
                return connection
            connection.close()
        return None


class Balancer:
    """Sends each request to the web process with the fewest requests in flight. Records responses and latencies."""

    def __init__(self, start: Callable[[int], "subprocess.Popen[bytes]"], ports: list[int]) -> None:
        self.start = start
        self.webs = [Web(port, start(port)) for port in ports]
        self.answers: Counter[tuple[str, int]] = Counter()
        self.waits: dict[str, list[float]] = {"page": [], "submission": []}

    async def send(self, what: str, request: bytes) -> tuple[int, bytes]:
        """Send a request and return (status, body). The status is 0 if there was no response."""
        web = min((web for web in self.webs if web.is_open), key=lambda web: web.in_flight)
        web.in_flight += 1
        began, status, body = time.monotonic(), 0, b""
        try:
            connection = web.connection() or await Connection.open(web.port)
            status, body = await connection.ask(request)
            web.idle.append(connection)
        except (OSError, EOFError) as error:
            logging.getLogger(__name__).error("%s: %r", what, error)
        finally:
            web.in_flight -= 1
        self.waits[what].append(time.monotonic() - began)
        self.answers[what, status] += 1
        return status, body

    async def restart(self, web: Web) -> None:
        """Replace a process: start a successor, send it new requests once ready, let the old one finish, and end that.

        Cloud Run and a Kubernetes Deployment replace a process in the same way (maxSurge 1 and maxUnavailable 0, which
        the Kubernetes defaults give for two replicas).
        """
        port = free_port()
        successor = Web(port, await asyncio.to_thread(self.start, port))
        self.webs.append(successor)
        web.is_open = False
        while web.in_flight:
            await asyncio.sleep(0.02)
        for connection in web.idle:
            connection.close()
        web.process.terminate()
        await asyncio.to_thread(web.process.wait, 30)
        self.webs.remove(web)
