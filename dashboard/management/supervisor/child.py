"""One part of the site as a child process: started so that it cannot outlive us, ended with all that it started."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h: the signal that the calling process gets when the thread that created it ends."""


PRCTL = ctypes.CDLL(None).prctl if sys.platform.startswith("linux") else None
"""Looked up once, before any fork."""


@dataclass(frozen=True)
class Part:
    """A part of the site: what to start and how it is ended when nobody is left to ask it."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    orphaned: signal.Signals = signal.SIGTERM
    """Sent by the kernel when we die. SIGTERM for parts with processes of their own, which they must end themselves."""
    is_ready: Callable[[], bool] | None = None
    """Asked after the start, where later parts need this one; `None`: nobody waits."""
    hushed: tuple[str, ...] = ()
    """Phrases of lines that are of no use to people here."""


class Child:
    """A part that was started once; it leads a session and a process group of its own."""

    def __init__(self, part: Part) -> None:
        """Start it. Call from the main thread only: the kernel's parent-death signal watches the starting thread."""
        self.part = part
        self.process = subprocess.Popen(
            part.command,
            env=dict(part.environment),
            cwd=part.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with(os.getpid(), part.orphaned),
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        os.set_blocking(self.output.fileno(), False)

    @property
    def pid(self) -> int:
        """The number of the process, and of its group."""
        return self.process.pid

    def has_ended(self) -> bool:
        """Return whether the process is gone; what it left in its group is then killed."""
        if self.process.poll() is None:
            return False
        self.kill()
        return True

    def ending(self) -> str:
        """Return how it ended: "exit 3" or "killed by SIGKILL"."""
        code = self.process.returncode
        return f"exit {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def terminate(self) -> None:
        """Ask it to finish; it passes this on to what it started."""
        self.process.terminate()

    def kill(self) -> None:
        """Kill whatever is left of its process group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def read(self) -> bytes | None:
        """Return its output since the last call; `b""`: its output is closed, `None`: nothing new."""
        try:
            return os.read(self.output.fileno(), 65536)
        except BlockingIOError:
            return None

    def close(self) -> None:
        """Close our end of its output."""
        self.output.close()


def die_with(parent: int, orphaned: signal.Signals) -> Callable[[], None] | None:
    """Return what a child does between fork and exec so that it gets `orphaned` when the process `parent` dies.

    A parent that died before the request was made would be missed, so the child looks once more and ends itself.
    Other systems than Linux have no such signal: there, parts outlive a kill -9 of `up` (docs/running.md).
    """
    if PRCTL is None:
        return None

    def bind() -> None:
        ask_for_signal(orphaned)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return bind


def ask_for_signal(number: signal.Signals) -> None:
    """Ask the kernel to send us `number` when the thread that created us ends; elsewhere than on Linux do nothing."""
    if PRCTL is not None:
        PRCTL(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
