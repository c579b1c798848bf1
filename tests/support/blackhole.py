"""A TCP proxy for a Unix socket that can go silent, like a network whose firewall has forgotten a connection.

Accepted connections stay open and data is acknowledged, but nothing is returned: no error, no end of stream.
"""

import contextlib
import selectors
import socket
import threading
from pathlib import Path


class Blackhole:
    """The proxy, a context manager. `address` is (host, port)."""

    def __init__(self, target: Path) -> None:
        """Forward to the Unix socket `target`."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self._is_silent = threading.Event()
        self._ended = threading.Event()
        self._dead: list[socket.socket] = []
        self._live: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Blackhole":
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listener.close()
        with self._lock:
            for each in (*self._live, *self._dead):
                each.close()

    def silence(self) -> None:
        """Stop forwarding, on open connections and on new ones."""
        self._is_silent.set()

    def resume(self) -> None:
        """Forward new connections again. Those opened before stay silent."""
        with self._lock:
            self._dead += self._live
            self._live = set()
        self._is_silent.clear()

    def cut(self) -> None:
        """Close every open connection."""
        with self._lock:
            for each in self._live:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._live.add(client)
            threading.Thread(target=self._forward, args=[client], daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        if self._is_silent.is_set():
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self._target))
        except OSError:
            client.close()
            return
        with self._lock:
            self._live.add(server)
        with selectors.DefaultSelector() as ready, contextlib.suppress(OSError, ValueError):
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            while self._pump(ready, client):
                pass

    def _pump(self, ready: selectors.BaseSelector, client: socket.socket) -> bool:
        """Forward the received data. Return False if the connection has ended or gone silent."""
        for key, _ in ready.select(0.1):
            if self._is_silent.is_set():
                return False
            source, target = key.fileobj, key.data
            assert isinstance(source, socket.socket)
            data = source.recv(65536)
            if not data:
                self._end(source, target)
                return False
            target.sendall(data)
        with self._lock:
            return client in self._live and not self._is_silent.is_set()

    def _end(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._live -= set(sockets)
        for each in sockets:
            each.close()
