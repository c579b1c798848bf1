"""Check each connection before reading from it: it must come from the user who started the emulator."""

import asyncio
import json
import os
from typing import Any, Protocol, cast

from uvicorn.config import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from emulator import socket_owners
from emulator.protocol.errors import ApiError

REFUSED_SECONDS = 2.0
"""How long a refused client may take to finish its request and read the response."""
REFUSAL = (
    "This emulator runs commands as the user who started it (user id {our_user}), so it serves only that user. "
    "This connection {source}. Start an emulator of your own: python -m emulator --state DIR"
)


class Http(Protocol):
    """A protocol class, as Uvicorn calls it."""

    def __call__(self, **arguments: Any) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        ...


def protocol_for_owner(find: socket_owners.Lookup) -> type[asyncio.Protocol]:
    """Return a protocol class that is Uvicorn's for connections of our own user and refuses all others."""
    our_user = os.geteuid()

    class OwnerCheck(asyncio.Protocol):
        """A new connection. It becomes one of Uvicorn's, or is answered with 403 whatever it sends."""

        def __init__(self, config: Config, server_state: ServerState, **more: Any) -> None:
            self._config, self._server_state, self._more = config, server_state, more

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            """Find the owner, and set the protocol."""
            user = find_owner(find, transport)
            if user == our_user:
                made = cast(Http, AutoHTTPProtocol)
                answer = made(config=self._config, server_state=self._server_state, **self._more)
            else:
                source = "has no owner that the system reports" if user is None else f"comes from the user id {user}"
                body = json.dumps(ApiError(403, REFUSAL.format(our_user=our_user, source=source)).body()).encode()
                head = f"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                refusal = head.encode() + b"Connection: close\r\n\r\n" + body
                answer = Refused(self._server_state, refusal)
            cast(asyncio.Transport, transport).set_protocol(answer)
            answer.connection_made(transport)

    return OwnerCheck


def find_owner(find: socket_owners.Lookup, transport: asyncio.BaseTransport) -> int | None:
    """Return the user at the other end of a connection, None if the system does not report it."""
    client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    if not client or not server:
        return None
    try:
        return find(client[:2], server[:2])
    except (OSError, ValueError):
        return None  # refused, because an unknown user may be anybody


class Refused(asyncio.Protocol):
    """A connection of another user. It is never parsed, answered once, and closed soon."""

    def __init__(self, server_state: ServerState, answer: bytes) -> None:
        self._connections: set[Any] = server_state.connections
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait a limited time for the first bytes."""
        self.transport = cast(asyncio.Transport, transport)
        self._connections.add(self)
        self._end = asyncio.get_running_loop().call_later(REFUSED_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:  # noqa: ARG002
        """Answer the first bytes and discard the rest, so that a reset does not destroy the response."""
        if self._answer:
            self.transport.write(self._answer)
            self._answer = b""
            self.transport.write_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Remove the connection."""
        self._end.cancel()
        self._connections.discard(self)

    def shutdown(self) -> None:
        """Close the connection with the server."""
        self.transport.abort()
