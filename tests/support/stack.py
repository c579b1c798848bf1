"""The whole site as people run it: `make up` or `manage.py up` in a state folder of its own."""

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from tests.support import migrated, waiting
from tests.support.environments import ROOT, environment

START_SECONDS = 60
MARKS = {
    "redis": "valkey-server",
    "emulator": "-m emulator",
    "web": "-m granian",
    "worker": "dashboard.celery --quiet --skip-checks worker --queues celery",
    "sender": "dashboard.celery --quiet --skip-checks worker --queues sending",
    "messenger": "dashboard.celery --quiet --skip-checks worker --queues messages",
    "beat": "dashboard.celery --quiet --skip-checks beat",
}
"""What the command line of each part holds."""


class Stack:
    """One run of the site; `start` again after it ended to run it on the same data."""

    def __init__(self, state: Path, port: int, *, with_make: bool = False, **more: str) -> None:
        """Prepare; `more` are environment variables. `make up` begins with nothing, `manage.py up` after migrations."""
        if not with_make and "DATABASE_URL" not in more and not (state / migrated.DATABASE).exists():
            migrated.copy_sqlite(state / migrated.DATABASE)
        self.address = f"http://127.0.0.1:{port}"
        self.environment = environment(state, port, **more)
        self.command = ["make", "up"] if with_make else [sys.executable, "manage.py", "up"]
        self.log: list[str] = []
        self.top: subprocess.Popen[str] | None = None
        self.orphans: list[psutil.Process] = []

    def start(self) -> "Stack":
        """Start and wait until the site says where it is."""
        self.log.clear()
        pipe = subprocess.PIPE
        self.top = subprocess.Popen(
            self.command, cwd=ROOT, env=self.environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
        )
        self.reader = threading.Thread(target=self._read, args=[self.top], daemon=True)
        self.reader.start()
        try:
            waiting.until(lambda: self.is_up or self.has_ended, seconds=START_SECONDS)
        except AssertionError:
            self.close()
        assert self.is_up, "\n".join(["the site did not start:", *self.log])
        return self

    @property
    def has_ended(self) -> bool:
        """Whether the first process is gone."""
        return self.top is None or self.top.poll() is not None

    @property
    def is_up(self) -> bool:
        """Whether the site has said that it answers."""
        return any(self.address in line for line in self.log)

    def family(self) -> list[psutil.Process]:
        """Return every process of the site, the first one included."""
        assert self.top is not None
        first = psutil.Process(self.top.pid)
        return [first, *first.children(recursive=True)]

    def part(self, name: str) -> psutil.Process | None:
        """Return the process of a part that the supervisor started, or None while there is none.

        It leads its group; the processes that it starts itself may look just like it.
        """
        return self.running(MARKS[name], leads=True)

    def running(self, mark: str, *, leads: bool = False) -> psutil.Process | None:
        """Return the first process of the site with `mark` in its command line, jobs' own included, or None."""
        for process in self.family():
            try:
                if mark in " ".join(process.cmdline()) and not (leads and os.getpgid(process.pid) != process.pid):
                    return process
            except (psutil.NoSuchProcess, psutil.ZombieProcess, ProcessLookupError):
                continue
        return None

    def replace(self, name: str) -> None:
        """Kill a part with -9; wait until it and all that it started are gone and another has taken its place."""
        old = self.part(name)
        assert old is not None, f"{name} does not run"
        family = [old, *old.children(recursive=True)]
        old.kill()
        waiting.until_gone(family, seconds=10)
        waiting.until(lambda: self.part(name), seconds=30, what=f"a new {name}")

    def kill(self) -> list[psutil.Process]:
        """Kill the first process with -9, nothing else; return all the others as they were."""
        family = self.family()
        assert self.top is not None
        self.top.kill()
        self.top.wait()
        self.orphans += family
        return family

    def stop(self) -> int:
        """Ask it to stop as Ctrl-C does; return the exit code; fail if anything is left or it takes long."""
        family = self.family()
        assert self.top is not None
        self.top.terminate()
        code = self.top.wait(timeout=20)
        waiting.until_gone(family, seconds=2)
        self.reader.join(timeout=10)
        return code

    def close(self) -> None:
        """Leave nothing running, whatever a test did."""
        try:
            if not self.has_ended:
                waiting.until_gone(self.kill(), seconds=10)
                self.reader.join(timeout=10)
        finally:
            for process in self.orphans:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def _read(self, top: "subprocess.Popen[str]") -> None:
        assert top.stdout is not None
        with top.stdout:
            for line in top.stdout:
                self.log.append(line.rstrip("\n"))
