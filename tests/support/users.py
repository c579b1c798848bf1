"""Other users of this machine: programs that root starts and that then switch to another user.

The interpreter may be unreadable for the other user, so it starts as root, loads what it needs, and then drops root
permanently.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY, SOMEBODY = 65534, 54321
"""User ids. The second belongs to no account, which sockets do not require."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

BECOME = """
import os, sys
def become(user):
    if user != os.geteuid():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
"""
CLIENT = """
import socket
family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
request = sys.stdin.buffer.read()
become(int(sys.argv[1]))
with socket.socket(family) as client:
    client.settimeout(20)
    client.connect((sys.argv[2], int(sys.argv[3])))
    client.sendall(request)
    client.shutdown(socket.SHUT_WR)
    while data := client.recv(65536):
        sys.stdout.buffer.write(data)
"""
EMULATOR = """
import encodings.idna, uvicorn.lifespan.on, uvicorn.loops.asyncio, uvicorn.protocols.http.auto
from emulator.__main__ import main
become(int(sys.argv.pop(1)))
sys.exit(main())
"""


def send(request: bytes, *, user: int, port: int, host: str = "127.0.0.1") -> bytes:
    """Send raw bytes as a user. Return everything received until the connection is closed."""
    command = [sys.executable, "-c", BECOME + CLIENT, str(user), host, str(port)]
    return subprocess.run(command, input=request, capture_output=True, check=True, timeout=60).stdout


def start_emulator(*options: str, user: int) -> "subprocess.Popen[str]":
    """Start `python -m emulator` as a user. The caller ends it."""
    command = [sys.executable, "-c", BECOME + EMULATOR, str(user), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


CONNECTED = """
import socket
become(int(sys.argv[1]))
with socket.socket() as client:
    client.connect(("127.0.0.1", int(sys.argv[2])))
    print("connected", flush=True)
    sys.stdin.read()
"""


@contextmanager
def connected(*, user: int, port: int) -> Iterator[None]:
    """Keep a connection of a user open in the block."""
    command, pipe = [sys.executable, "-c", BECOME + CONNECTED, str(user), str(port)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "connected\n"
        yield
        process.communicate()
