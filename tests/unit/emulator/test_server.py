"""The emulator's server leaves nothing open when it has ended."""

import socket
import threading
import urllib.request
from pathlib import Path

from emulator.web.server import address_of, listen, server
from emulator.world import Options, World

SECONDS = 10
LARGE = 16 * 2**20
"""Bytes; more than the kernel takes for a client that does not read."""


def test_a_client_that_reads_no_more_is_cut_off_when_the_server_ends(tmp_path: Path) -> None:
    bound, is_ready = listen("127.0.0.1", 0), threading.Event()
    made = server(World(Options(state=tmp_path, is_scripted=True)), bound, ready=is_ready.set)
    made.config.timeout_graceful_shutdown = 0
    thread = threading.Thread(target=made.run, args=([bound],), daemon=True)
    thread.start()
    assert is_ready.wait(SECONDS)
    upload = f"{address_of(bound)}/upload/storage/v1/b/large/o?uploadType=media&name=file"
    urllib.request.urlopen(urllib.request.Request(upload, data=bytes(LARGE)), timeout=SECONDS).close()
    with socket.create_connection(bound.getsockname(), timeout=SECONDS) as client:
        client.sendall(b"GET /storage/v1/b/large/o/file?alt=media HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(1) == b"H", "it has begun to answer"

        made.should_exit = True
        thread.join(SECONDS)

        assert not thread.is_alive()
        rest = len(b"".join(iter(lambda: client.recv(2**20), b"")))  # TimeoutError if nobody closed it
    assert rest < LARGE
