"""Receivers of messages as real servers on loopback: webhooks with every kind of fault, and a mail server."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP

from tests.support.servers import in_thread


@dataclass
class Received:
    """One received request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A web server on loopback. `behaviour` decides its next responses: a status or a word."""

    port: int = 0
    behaviour: int | str = 200
    headers: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    bytes_sent: int = 0

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.port}/hook/T0KEN"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Ignore connections that the other side closed."""


def _answer(handler: BaseHTTPRequestHandler, receiver: Receiver) -> None:
    secret = b"internal words of the server"
    handler.send_response(int(receiver.behaviour))
    for name, value in receiver.headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(secret)))
    handler.end_headers()
    handler.wfile.write(secret)


def _drop(handler: BaseHTTPRequestHandler, _: Receiver) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def _keep_silent(_: BaseHTTPRequestHandler, receiver: Receiver) -> None:
    receiver.stop.wait(30)


def _drip(handler: BaseHTTPRequestHandler, receiver: Receiver) -> None:
    for _ in range(600):
        if receiver.stop.wait(0.05):
            return
        handler.wfile.write(b"x")
        handler.wfile.flush()


def _send_a_gigabyte(handler: BaseHTTPRequestHandler, receiver: Receiver) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(2**30))
    handler.end_headers()
    for _ in range(2**10):
        if receiver.stop.is_set():
            return
        handler.wfile.write(b"x" * 2**20)
        receiver.bytes_sent += 2**20


BEHAVIOURS = {"drop": _drop, "silent": _keep_silent, "drip": _drip, "gigabyte": _send_a_gigabyte}


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            self.close_connection = True
            BEHAVIOURS.get(str(receiver.behaviour), _answer)(self, receiver)

        def do_GET(self) -> None:
            receiver.received.append(Received(self.path, {}, b"GET"))
            _answer(self, receiver)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    return Handler


@contextmanager
def receiver(*, certificate: tuple[str, str] | None = None) -> Iterator[Receiver]:
    """Run a receiver. With `certificate`, the files of a certificate and its key, it uses TLS."""
    found = Receiver()
    server = _Server(("127.0.0.1", 0), _handler(found))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    found.port = server.server_address[1]
    with in_thread(server):
        try:
            yield found
        finally:
            found.stop.set()


@dataclass
class Mailbox:
    """A mail server on loopback. `refusal` is an SMTP reply to every recipient, such as "550 unknown"."""

    port: int = 0
    refusal: str = ""
    mails: list[tuple[list[str], str]] = field(default_factory=list)

    async def handle_RCPT(self, _server: SMTP, _session: Any, envelope: Any, address: str, _options: Any) -> str:
        """Accept or refuse a recipient."""
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Any, envelope: Any) -> str:
        """Store a mail."""
        self.mails.append((envelope.rcpt_tos, envelope.content.decode()))
        return "250 OK"


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """Run a mail server."""
    found = Mailbox()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found.port = probe.getsockname()[1]
    controller = Controller(found, hostname="127.0.0.1", port=found.port)
    controller.start()
    try:
        yield found
    finally:
        controller.stop()
