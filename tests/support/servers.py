"""Servers of the standard library that tests run on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from threading import Thread


@contextmanager
def in_thread(server: BaseServer) -> Iterator[None]:
    """Answer requests in a thread while the block runs; then end the thread and close the server."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
