"""A PostgreSQL server for tests: no TCP port, no passwords, no durability, removed after the run.

PostgreSQL refuses to run as root, so root starts it as the user `postgres` created by Debian's package.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

START_SECONDS = 30


def url(state: Path) -> str:
    """Return the DATABASE_URL of the server that `running(state)` starts."""
    return f"postgres://postgres@{quote(str(folder(state)), safe='')}/trainboard"


def folder(state: Path) -> Path:
    """Return the server's folder. It is short, because the path of a Unix socket may not exceed 107 bytes."""
    return Path(f"{state}-pg")


def programs() -> Path:
    """Return the folder with the newest installed `initdb` and `postgres`. Raise if there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    found = [path for path in debian if (path / "initdb").exists()]
    if found:
        return found[-1]
    if anywhere := shutil.which("initdb"):
        return Path(anywhere).resolve().parent
    raise FileNotFoundError("PostgreSQL is not installed: run `make machine`, or set DATABASE_URL to a server.")


@contextmanager
def running(state: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in `folder(state)` with an empty database `trainboard`. Remove both afterwards."""
    home, bin_dir = folder(state), programs()
    home.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(home, "postgres", "postgres")
    try:
        _call(bin_dir / "initdb", "-A", "trust", "-N", "-U", "postgres", "-E", "UTF8", "-D", home / "data")
        server = start(state)
        try:
            _call(bin_dir / "createdb", "-h", home, "-U", "postgres", "trainboard")
            yield server
        finally:
            server.send_signal(signal.SIGINT)  # "fast" shutdown, which ends open sessions
            server.wait(timeout=30)
    finally:
        shutil.rmtree(home)


def start(state: Path) -> subprocess.Popen[bytes]:
    """Start the server of `folder(state)`, also after a kill, and wait until it responds."""
    home, bin_dir = folder(state), programs()
    options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=100"]
    command = [*_as_postgres(), str(bin_dir / "postgres"), "-D", str(home / "data"), "-k", str(home), *options]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
    _wait(bin_dir, home, server)
    return server


def _wait(bin_dir: Path, home: Path, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while subprocess.run([bin_dir / "pg_isready", "-q", "-h", home], check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"PostgreSQL did not start:\n{(home / 'log').read_text()}")


def _call(*command: str | Path) -> None:
    done = subprocess.run([*_as_postgres(), *map(str, command)], check=False, cwd="/", capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def _as_postgres() -> list[str]:
    """Return the command prefix that drops root, and ends the program when the tests are killed."""
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--pdeathsig=INT"]
