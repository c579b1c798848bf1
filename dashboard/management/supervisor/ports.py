"""TCP ports: find free ones, and keep the emulator's port across restarts."""

import socket
import time
import zlib
from pathlib import Path

EMULATOR_PORTS = range(8900, 9000)


def is_free(host: str, port: int) -> bool:
    """Return whether a server could listen on `host` and `port` now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def becomes_free(host: str, port: int, *, seconds: float) -> bool:
    """Return whether the port is free now or becomes free within `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_free(host, port):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.1)
    return True


def choose(host: str) -> int:
    """Return a free port chosen by the system."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def remembered(file: Path, host: str, *, besides: int = 0) -> int:
    """Return the port in `file` if it is free, else the next free one of `EMULATOR_PORTS`, and store it.

    `besides` is a port to avoid, because another server will soon listen on it. The port should not change across
    restarts, because it is part of URLs that people copied from the emulator's responses.
    """
    try:
        before = int(file.read_text())
    except (FileNotFoundError, ValueError):
        before = 0
    if before not in (0, besides) and is_free(host, before):
        return before
    # Two sites that start at the same time begin at different ports, so that they do not choose the same one.
    first = zlib.crc32(bytes(file)) % len(EMULATOR_PORTS)
    candidates = [*EMULATOR_PORTS[first:], *EMULATOR_PORTS[:first]]
    port = next((port for port in candidates if port != besides and is_free(host, port)), 0) or choose(host)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{port}\n")
    return port
