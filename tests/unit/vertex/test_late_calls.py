"""Tests that no byte of a call is sent after its time has passed, whatever took the time before."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from jobs import vertex
from jobs.vertex import deadline


@contextmanager
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """A server that accepts connections, stores what it receives and never responds."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.settimeout(3)
                        while data := connection.recv(65_536):
                            received.append(data)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", received
        server.shutdown(socket.SHUT_RDWR)


def create(url: str) -> vertex.VertexError:
    """Create a job; return the error."""
    client = vertex.VertexClient(endpoint=url)
    with pytest.raises(vertex.Unavailable) as caught, vertex.at_most(0.4):
        client.create("custom_job", project="p", region="us-central1", body={"displayName": "x"})
    return caught.value


def test_a_connection_that_took_too_long_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, spent = deadline._Connection.connect, [0.0]
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + sum(spent)))

    def slowly(self: deadline._Connection) -> None:
        connect(self)
        spent.append(60.0)  # as a name server or a handshake that takes its time

    monkeypatch.setattr(deadline._Connection, "connect", slowly)
    with listener() as (url, received):
        error = create(url)

    assert received == []
    assert isinstance(error, vertex.Unavailable)
    assert not error.may_have_happened


def test_a_call_that_was_sent_and_not_answered_stays_in_doubt() -> None:
    with listener() as (url, received):
        began = time.monotonic()
        error = create(url)

        assert time.monotonic() - began < 2
    assert received
    assert isinstance(error, vertex.Unavailable)
    assert error.may_have_happened
