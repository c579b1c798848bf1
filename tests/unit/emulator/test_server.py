"""Tests that the emulator closes everything when it ends."""

import asyncio
import socket
import threading
import urllib.request
from pathlib import Path

from emulator.emulator import Emulator, Options
from emulator.state.records import Job
from emulator.web.server import Server, address_of, listen

SECONDS = 10
LARGE = 16 * 2**20
"""Bytes; more than the kernel takes for a client that does not read."""


def test_a_client_that_reads_no_more_is_cut_off_when_the_server_ends(tmp_path: Path) -> None:
    bound, is_ready = listen("127.0.0.1", 0), threading.Event()
    made = Server(Emulator(Options(state=tmp_path, is_scripted=True)), bound, ready=is_ready.set)
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


def test_a_replica_whose_time_comes_while_the_emulator_closes_is_not_started(tmp_path: Path) -> None:
    emulator = Emulator(Options(state=tmp_path))
    document = {"jobSpec": {"workerPoolSpecs": [{"containerSpec": {"imageUri": "gcr.io/p/i"}}]}, "state": "x"}
    job = Job(project="1", project_id="p", location="us-central1", id="1", seq=1, document=document)

    async def close_and_start() -> int:
        await emulator.close()
        emulator.processes.start(job, "workerpool0-0")
        return len(asyncio.all_tasks())

    assert asyncio.run(close_and_start()) == 1, "the one that asks"
