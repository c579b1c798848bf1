"""The gRPC server. It turns every call into a request to the HTTP app in this process, with the same faults and errors.

A call that its client has cancelled is still carried out, as a request over HTTP is.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import grpc
import grpc.aio
from starlette.types import Message

from emulator.capacity.machines import REGIONS
from emulator.emulator import Emulator
from emulator.grpc import certificate
from emulator.grpc.relay import Relay
from emulator.grpc.services import Method, Services
from emulator.grpc.transcoding import Failure, Request, Transcoder
from emulator.lifecycle.clock import WallClock
from emulator.protocol.errors import INTERNAL, UNAVAILABLE, UNIMPLEMENTED, ApiError
from emulator.web import app, routes, unserved
from emulator.web.server import Server

CODES = {code.value[0]: code for code in grpc.StatusCode}
DETAILS = "grpc-status-details-bin"
FIELD_MASK = "x-goog-fieldmask"
"""Metadata that selects parts of the response, as `fields` does over HTTP (System parameters of Google's APIs)."""
STOP_SECONDS = 1.0
OPTIONS = [("grpc.max_receive_message_length", app.MAX_BODY_BYTES), ("grpc.max_send_message_length", -1)]
log = logging.getLogger("emulator")


def hosts() -> list[str]:
    """Return the host names of Vertex AI, for which the proxy connects to the emulator."""
    return ["aiplatform.googleapis.com", *(f"{region}-aiplatform.googleapis.com" for region in sorted(REGIONS))]


def names(host: str) -> list[str]:
    """Return the names in the certificate: those of this machine, `host`, and those of Vertex AI."""
    return list(dict.fromkeys(["localhost", "127.0.0.1", "::1", host, *hosts()]))


class GrpcServer:
    """A gRPC server on a bound socket, next to the HTTP server of an emulator. Clients must trust `certificate`."""

    def __init__(self, emulator: Emulator, http: Server, bound: socket.socket) -> None:
        """Load the methods and the certificate. Raise OSError if the certificate cannot be stored."""
        state = emulator.options.state
        host, port = bound.getsockname()[:2]
        self.certificate = certificate.load_or_create(state, names(host), WallClock().now())
        self.address = f"{'localhost' if host in ('127.0.0.1', '::1') else host}:{port}"
        self._http = http
        self._services = Services()
        self._transcoder = Transcoder(self._services)
        self._relay = Relay(bound, hosts(), state, find=http.find, credential=http.credential)
        self._running: set[asyncio.Task[tuple[int, bytes]]] = set()

    async def start(self) -> None:
        """Start serving."""
        self._server = grpc.aio.server(options=OPTIONS)
        self._server.add_generic_rpc_handlers((self,))
        pair = [(self.certificate.key, self.certificate.pem)]
        self._server.add_secure_port(f"unix:{self._relay.prepare()}", grpc.ssl_server_credentials(pair))
        await self._server.start()
        await self._relay.start()

    async def stop(self) -> None:
        """Stop: calls get a moment to finish, then every connection is closed."""
        await self._server.stop(STOP_SECONDS)
        await self._relay.stop()
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    # ------------------------------------------------------------ calls
    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """Return the handler of a method (grpc.GenericRpcHandler). An unknown method gets an error with its name."""
        method = self._services.methods.get(details.method)
        return grpc.unary_unary_rpc_method_handler(
            self._unserved(details.method) if method is None else self._served(method)
        )

    @staticmethod
    def _unserved(path: str) -> Callable[[bytes, Any], Any]:
        name = path.removeprefix("/").replace("/", ".")

        async def refuse(_: bytes, context: Any) -> None:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"Method not found: the emulator does not serve {name}.")

        return refuse

    def _served(self, method: Method) -> Callable[[bytes, Any], Any]:
        async def answer(data: bytes, context: Any) -> bytes:
            try:
                return await self._answer(method, data, context)
            except Failure as problem:
                failure = problem
            except Exception:  # a bug here must not look like a broken connection
                log.exception("a call failed")
                failure = Failure(INTERNAL, "Internal error encountered.")
            trailers = ((DETAILS, failure.details),) if failure.details else ()
            await context.abort(CODES[failure.code], failure.message, trailers)
            raise failure  # not reached, abort raises

        return answer

    async def _answer(self, method: Method, data: bytes, context: Any) -> bytes:
        try:
            request = self._transcoder.request(method, data)
        except ApiError as problem:
            raise self._transcoder.error(problem) from None
        if routes.resolve(request.verb, request.path) is None:
            raise Failure(UNIMPLEMENTED, unserved.error(request.verb, request.path).message)
        metadata = {str(name): value for name, value in context.invocation_metadata() if isinstance(value, str)}
        # gRPC percent-encodes the path of the peer's socket.
        task = asyncio.ensure_future(self._ask(request, metadata, peer=unquote(context.peer())))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # A client that gives up cancels this call, but not the request that it has sent.
        status, body = await asyncio.shield(task)
        if status == 0:
            raise Failure(UNAVAILABLE, "The connection was broken before the answer was sent.")
        if status != 200:
            raise self._transcoder.failure(status, body)
        return self._transcoder.answer(method, body)

    async def _ask(self, request: Request, metadata: dict[str, str], *, peer: str) -> tuple[int, bytes]:
        """Send a request to the HTTP app. Return status and body, with status 0 if the app broke the connection."""
        credential, query = self._http.credential, request.query
        prefix = credential.prefix if credential is not None and self._relay.is_trusted(peer) else ""
        if FIELD_MASK in metadata:
            query += f"&$fields={quote(metadata[FIELD_MASK])}"
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        async def broken() -> None:
            self._relay.reset(peer)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "2",
            "method": request.verb,
            "scheme": "http",
            "server": self._http.bound.getsockname()[:2],
            "path": prefix + request.path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in metadata.items()],
            app.BREAK: broken,
        }
        await self._http.app(scope, receive, send)
        status = next((message["status"] for message in sent if message["type"] == "http.response.start"), 0)
        return status, b"".join(message.get("body", b"") for message in sent)
