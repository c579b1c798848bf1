"""The TCP port of gRPC. It forwards connections of our own user to the gRPC server's private socket.

The gRPC library neither reveals who connects before it reads nor breaks connections; this port does both. It is also an
HTTP proxy (`CONNECT`, RFC 9110 section 9.3.6): tools that always call `us-central1-aiplatform.googleapis.com` reach the
emulator with `grpc_proxy=http://HOST:PORT`, which gRPC clients read.
"""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import tempfile
from pathlib import Path

from emulator import socket_owners
from emulator.protocol.errors import ApiError
from emulator.web import app, owner_check
from emulator.web.access import Credential

FOLDER_NOTE = "grpc-folder"
"""File in the state folder with the path of the private sockets' folder, to remove it after a `kill -9`."""
CHUNK = 2**16
HEAD_SECONDS = 10.0
"""How long a client of the proxy may take to send the head of its request."""
CONNECT = re.compile(rb"CONNECT ([^\s:]+):(\d+) HTTP/1\.[01]\r\n")
AUTHORIZATION = re.compile(rb"\r\nproxy-authorization: *basic +(\S+)", re.IGNORECASE)
ACCESS_DENIED = bytes.fromhex("15 0303 0002 02 31")
"""A fatal TLS alert, access_denied (RFC 8446, section 6.2), for clients that may not connect."""


class Relay:
    """The port and its connections. `hosts` are those to which clients of the proxy may connect."""

    def __init__(
        self,
        bound: socket.socket,
        hosts: list[str],
        state: Path,
        *,
        find: socket_owners.Lookup | None,
        credential: Credential | None,
    ) -> None:
        """Prepare. Without `find`, every connection is accepted, and every request must have the credential."""
        self._bound, self._hosts, self._find, self._credential = bound, set(hosts), find, credential
        self._note = state / FOLDER_NOTE
        self._open: dict[str, asyncio.StreamWriter] = {}
        self._trusted: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._server: asyncio.Server | None = None

    def prepare(self) -> Path:
        """Return the path of the private socket, in a new folder that only this user can enter.

        It is outside the state folder, whose path may be longer than a socket's path may be (107 bytes).
        """
        self._remove_folder()
        self._folder = Path(tempfile.mkdtemp(prefix="trainboard-grpc-"))
        self._note.write_text(str(self._folder))
        return self._folder / "server"

    async def start(self) -> None:
        """Start listening."""
        self._server = await asyncio.start_server(self._accept, sock=self._bound, limit=CHUNK)

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is not None:
            self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._remove_folder()

    def _remove_folder(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._note.read_text(), ignore_errors=True)
            self._note.unlink()

    def reset(self, peer: str) -> None:
        """Break a connection with a TCP reset. `peer` is its name in the gRPC server."""
        writer = self._open.get(peer)
        if writer is not None:
            app.reset(writer.transport)

    def is_trusted(self, peer: str) -> bool:
        """Return whether a connection came through the proxy with the credential. Its requests then need none."""
        return peer in self._trusted

    # ------------------------------------------------------------ one connection
    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass  # the client has disconnected or uses another protocol
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        user = None if self._find is None else owner_check.find_owner(self._find, writer.transport)
        if self._find is not None and user != os.geteuid():
            await _refuse(reader, writer, ACCESS_DENIED)
            return
        first, is_trusted = await reader.read(1), False
        if first == b"C":  # TLS starts with 0x16
            async with asyncio.timeout(HEAD_SECONDS):
                head = first + await reader.readuntil(b"\r\n\r\n")
            if refusal := self._proxy_refusal(head):
                await _refuse(reader, writer, refusal)
                return
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            first, is_trusted = b"", self._has_credential(head)
        await self._relay(first, reader, writer, is_trusted=is_trusted)

    def _proxy_refusal(self, head: bytes) -> bytes:
        """Return the response to the head of a proxy request that is refused, b"" if it is accepted."""
        match = CONNECT.match(head)
        if match is not None and match[1].decode(errors="replace").lower() in self._hosts:
            return b""
        asked = head.partition(b"\r\n")[0].decode(errors="replace")[:200]
        problem = ApiError(403, f"The emulator's proxy connects to Vertex AI only; got '{asked}'.")
        body = json.dumps(problem.body()).encode()
        return b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
            len(body),
            body,
        )

    def _has_credential(self, head: bytes) -> bool:
        """Return whether the head of a proxy request has the credential as its password (RFC 7617)."""
        match = AUTHORIZATION.search(head)
        if match is None or self._credential is None:
            return False
        try:
            _, _, password = base64.b64decode(match[1]).decode().partition(":")
        except ValueError:
            return False
        return self._credential.matches(password)

    async def _relay(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_trusted: bool
    ) -> None:
        """Copy in both directions until one side ends.

        Our end of the private socket has a name, by which the gRPC server identifies the connection.
        """
        name = str(self._folder / str(next(self._numbers)))
        private = socket.socket(socket.AF_UNIX)
        private.settimeout(0)
        try:
            private.bind(name)
            await asyncio.get_running_loop().sock_connect(private, str(self._folder / "server"))
            inner_reader, inner = await asyncio.open_unix_connection(sock=private)
        except BaseException:  # also if the task is cancelled
            private.close()
            raise
        finally:
            Path(name).unlink(missing_ok=True)  # a connection keeps the names of its ends
        peer = f"unix:{name}"
        self._open[peer] = writer
        if is_trusted:
            self._trusted.add(peer)
        try:
            inner.write(first)
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, inner))
                group.create_task(_copy(inner_reader, writer))
        except* OSError:
            pass  # one side has broken the connection
        finally:
            del self._open[peer]
            self._trusted.discard(peer)
            inner.transport.abort()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy until the source ends, then end the target."""
    while data := await source.read(CHUNK):
        target.write(data)
        await target.drain()
    target.write_eof()


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes) -> None:
    """Send the answer, and discard input for a moment, so that a reset does not destroy the answer."""
    writer.write(answer)
    writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(owner_check.REFUSED_SECONDS):
            while await reader.read(CHUNK):
                pass
