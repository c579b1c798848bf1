"""Uvicorn around the app: loopback only, our own user only, port 0 for a free one, a word when it is ready."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable

import uvicorn

from emulator import peers
from emulator.web import access
from emulator.web.access import Credential
from emulator.web.app import create_app
from emulator.web.gate import gate
from emulator.world import World


class NotLoopback(ValueError):
    """The emulator runs commands as given, so nobody else may reach it."""


def listen(host: str, port: int) -> socket.socket:
    """Bind a loopback address; NotLoopback for any other, OSError if the port is taken."""
    address = "127.0.0.1" if host == "localhost" else host
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise NotLoopback(f"{host} is not a loopback address; the emulator runs commands and listens on loopback only")
    # asyncio sends small answers at once (TCP_NODELAY) only where the socket says it is TCP; else each costs 40 ms.
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


class Server(uvicorn.Server):
    """A server that says when it is ready, and leaves no connection open when it has ended."""

    ready: Callable[[], None]
    address: str
    """Where it is called; a request to it is let in also where a credential is demanded."""
    credential: Credential | None
    find: peers.Lookup | None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End as Uvicorn does, then break what is still open, such as a connection whose client reads no more."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if self.find is not None:
            self.find.close()
        await asyncio.sleep(0)  # an aborted connection is closed in the loop's next turn


def server(
    world: World, bound: socket.socket, *, ready: Callable[[], None], demands_credential: bool = False
) -> Server:
    """Return a server for a world that calls `ready` when it answers.

    It serves the connections of the user who runs it. demands_credential: by the credential, also where the system
    tells whose a connection is.
    """
    find = None if demands_credential else peers.lookup()
    access.forget(world.options.state)
    credential = Credential(world.options.state) if find is None else None
    config = uvicorn.Config(
        create_app(world, credential),
        http="auto" if find is None else gate(find),
        log_level="warning",
        access_log=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=3,
        timeout_keep_alive=75,
    )
    made = Server(config)
    made.ready = ready
    made.credential, made.find = credential, find
    made.address = world.processes.storage = address_of(bound) + (credential.prefix if credential else "")
    return made
