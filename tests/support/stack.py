"""The whole site as users run it: `make up` or `manage.py up` with its own state folder."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.support import migrated, waiting
from tests.support.environments import ROOT, environment

START_SECONDS = 180
MANAGE = (sys.executable, "manage.py")
MARKS = {
    "redis": "valkey-server",
    "emulator": "-m emulator",
    "web": "-m granian",
    "worker": "dashboard.celery --quiet --skip-checks worker --queues celery",
    "sender": "dashboard.celery --quiet --skip-checks worker --queues sending",
    "messenger": "dashboard.celery --quiet --skip-checks worker --queues messages",
    "beat": "dashboard.celery --quiet --skip-checks beat",
}
"""{part: text in its command line}"""


class Stack:
    """One run of the site. Call `start` again after it ended to run it on the same data."""

    def __init__(
        self, state: Path, port: int, *, program: Sequence[str] = MANAGE, folder: Path = ROOT, **more: str
    ) -> None:
        """Prepare a run of `program` in `folder`. `more` are environment variables.

        `manage.py up` starts after the migrations, other programs with nothing.
        """
        if program is MANAGE and "DATABASE_URL" not in more and not (state / migrated.DATABASE).exists():
            migrated.copy_sqlite(state / migrated.DATABASE)
        self.address = f"http://127.0.0.1:{port}"
        self.environment = environment(state, port, **more)
        self.command = [*program, "up"]
        self.folder = folder
        self.log: list[str] = []
        self.top: subprocess.Popen[str] | None = None
        self.orphans: list[psutil.Process] = []

    def start(self) -> "Stack":
        """Start the site and wait until it prints its address."""
        self.log.clear()
        pipe = subprocess.PIPE
        self.top = subprocess.Popen(
            self.command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
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
        """Whether the first process has ended."""
        return self.top is None or self.top.poll() is not None

    @property
    def is_up(self) -> bool:
        """Whether the site has printed that it is ready."""
        return any(self.address in line for line in self.log)

    def family(self) -> list[psutil.Process]:
        """Return every process of the site, including the first one."""
        assert self.top is not None
        first = psutil.Process(self.top.pid)
        return [first, *first.children(recursive=True)]

    def part(self, name: str) -> psutil.Process | None:
        """Return the process of a part started by the supervisor, or None.

        It leads its process group. Processes that it starts may have the same command line.
        """
        return self.running(MARKS[name], leads=True)

    def running(self, mark: str, *, leads: bool = False) -> psutil.Process | None:
        """Return the first process of the site with `mark` in its command line, including those of jobs, or None."""
        for process in self.family():
            try:
                if mark in " ".join(process.cmdline()) and not (leads and os.getpgid(process.pid) != process.pid):
                    return process
            except (psutil.NoSuchProcess, psutil.ZombieProcess, ProcessLookupError):
                continue
        return None

    def replace(self, name: str) -> None:
        """Kill a part with -9. Wait until it and its children are gone and a replacement runs."""
        old = self.part(name)
        assert old is not None, f"{name} does not run"
        family = [old, *old.children(recursive=True)]
        old.kill()
        waiting.until_gone(family, seconds=10)
        waiting.until(lambda: self.part(name), seconds=30, what=f"a new {name}")

    def kill(self) -> list[psutil.Process]:
        """Kill only the first process with -9. Return the other processes."""
        family = self.family()
        assert self.top is not None
        self.top.kill()
        self.top.wait()
        self.orphans += family
        return family

    def stop(self) -> int:
        """Stop the site as Ctrl-C does and return the exit code. Fail if a process is left or it takes too long."""
        family = self.family()
        assert self.top is not None
        self.top.terminate()
        code = self.top.wait(timeout=20)
        waiting.until_gone(family, seconds=2)
        self.reader.join(timeout=10)
        return code

    def close(self) -> None:
        """Kill what is still running, whatever a test did."""
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
