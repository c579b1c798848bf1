"""Uvicorn around the app, for loopback and our own user only. Port 0 selects a free one."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Protocol

import uvicorn

from emulator import socket_owners
from emulator.emulator import Emulator
from emulator.web import access
from emulator.web.access import Credential
from emulator.web.app import create_app
from emulator.web.owner_check import protocol_for_owner


class NotLoopback(ValueError):
    """The address is not loopback. The emulator runs commands as given, so nobody else may reach it."""


def listen(host: str, port: int) -> socket.socket:
    """Bind a loopback address. Raise NotLoopback for any other, OSError if the port is taken."""
    address = "127.0.0.1" if host == "localhost" else host
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise NotLoopback(f"{host} is not a loopback address; the emulator runs commands and listens on loopback only")
    # asyncio sends small responses at once (TCP_NODELAY) only if the socket's protocol is TCP. Otherwise each takes 40
    # ms.
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((address, port))
        bound.listen(128)
    except OSError:
        bound.close()
        raise
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the URL of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class AdditionalServer(Protocol):
    """Another server of the same emulator, which starts and stops with this one."""

    async def start(self) -> None:
        """Start serving."""
        ...

    async def stop(self) -> None:
        """Stop serving."""
        ...


class Server(uvicorn.Server):
    """The server of an emulator. It calls `ready` when it serves requests, and leaves no connection open after its end.

    It serves the user who runs it. With `demands_credential` it identifies that user by a credential, even if the
    system reports the owner of a connection. `address` is the URL for clients, with the credential if it is required.
    """

    def __init__(
        self, emulator: Emulator, bound: socket.socket, *, ready: Callable[[], None], demands_credential: bool = False
    ) -> None:
        self.bound = bound
        self.find = None if demands_credential else socket_owners.lookup()
        access.remove_old_credential(emulator.options.state)
        self.credential = Credential(emulator.options.state) if self.find is None else None
        self.address = address_of(bound) + (self.credential.prefix if self.credential else "")
        emulator.processes.storage = self.address
        self.app = create_app(emulator, self.credential)
        self.additional_servers: list[AdditionalServer] = []
        self._ready = ready
        config = uvicorn.Config(
            self.app,
            http="auto" if self.find is None else protocol_for_owner(self.find),
            log_level="warning",
            access_log=False,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=3,
            timeout_keep_alive=75,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the additional servers too, then call `ready`."""
        await super().startup(sockets)
        if self.started:
            for other in self.additional_servers:
                await other.start()
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down as Uvicorn does, then break open connections, such as one whose client does not read."""
        for other in self.additional_servers:
            await other.stop()
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if self.find is not None:
            self.find.close()
        await asyncio.sleep(0)  # an aborted connection is closed in the next turn of the loop
