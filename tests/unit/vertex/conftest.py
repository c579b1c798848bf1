"""Fixtures for a local HTTP server that plays given responses, including broken ones, and records requests."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from jobs.vertex import PlatformClient, Timeout, VertexClient
from tests.support.running_emulator import Running, running
from tests.support.servers import in_thread

NAME = "projects/123/locations/us-central1/customJobs/456"


@dataclass
class Asked:
    """One request as it arrived: header names in lower case, `body` parsed JSON, text or None."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    play: "LocalServer"

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        parts = urlsplit(self.path)
        is_json = "json" in self.headers.get("Content-Type", "")
        self.play.asked.append(
            Asked(
                self.command,
                parts.path,
                parse_qs(parts.query),
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(content) if is_json else content.decode() or None,
            )
        )
        self.play.answers.pop(0)(self)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@dataclass
class LocalServer:
    """A server that sends `answers` in order, one per request, and appends each request to `asked`."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def json(self, value: object, status: int = 200, **headers: str) -> None:
        self.body(json.dumps(value).encode(), status, **{"Content-Type": "application/json", **headers})

    def error(self, status: int, message: str, code: str = "", *details: object, **headers: str) -> None:
        """Play Google's error envelope."""
        error = {"code": status, "message": message, "status": code, "details": list(details)}
        self.json({"error": error}, status, **headers)

    def body(self, content: bytes, status: int = 200, **headers: str) -> None:
        def play(handler: Handler) -> None:
            handler.send_response_only(status)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)

        self.answers.append(play)

    def raw(self, content: bytes) -> None:
        """Send these bytes, whatever they are, and close the connection."""

        def play(handler: Handler) -> None:
            handler.wfile.write(content)
            handler.close_connection = True

        self.answers.append(play)

    def reset(self) -> None:
        """Break the connection after the request has arrived."""

        def play(handler: Handler) -> None:
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
            handler.close_connection = True

        self.answers.append(play)

    def silence(self) -> None:
        """Accept the request and send no response until the test ends."""
        self.answers.append(lambda handler: self._wait(handler))

    def drip(self, start: bytes, pause: float = 0.05) -> None:
        """Send `start`, then single bytes without end."""

        def play(handler: Handler) -> None:
            handler.close_connection = True
            try:
                handler.wfile.write(start)
                while not self.released.wait(pause):
                    handler.wfile.write(b"x")
            except OSError:
                return  # the client has left, as it should

        self.answers.append(play)

    def _wait(self, handler: Handler) -> None:
        self.released.wait(30)
        handler.close_connection = True


@pytest.fixture
def server() -> Iterator[LocalServer]:
    play = LocalServer()
    verbs = {f"do_{method}": Handler.answer for method in ("GET", "POST", "DELETE")}
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Playing", (Handler,), {"play": play, **verbs}))
    http.daemon_threads = True
    play.url = f"http://127.0.0.1:{http.server_port}"
    with in_thread(http):
        yield play
        play.released.set()


@pytest.fixture
def client(server: LocalServer) -> VertexClient:
    return VertexClient(endpoint=server.url, timeout=Timeout(connect=5, read=5, total=20))


@pytest.fixture
def hasty(server: LocalServer) -> VertexClient:
    """A client with very short timeouts."""
    return VertexClient(endpoint=server.url, timeout=Timeout(connect=0.5, read=0.2, total=0.4))


@pytest.fixture
def nobody() -> str:
    """An address of this machine on which no server listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("emulator"), scripted=True) as started:
        yield started


@pytest.fixture
def platform(emulator: Running) -> Iterator[PlatformClient]:
    """Google's other services, imitated; what a test denies, breaks or takes away holds for that test."""
    yield PlatformClient(endpoint=emulator.url, timeout=Timeout(connect=3, read=3, total=5))
    emulator.forget_faults()
    emulator.access()
    emulator.call("POST", "/_emulator/images", {})
