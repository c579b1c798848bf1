"""A part of the site as a child process. It ends with its parent, together with all processes that it started."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h: the signal that a process receives when the thread that created it ends."""


PRCTL = ctypes.CDLL(None).prctl if sys.platform.startswith("linux") else None
"""Loaded once, before any fork."""


@dataclass(frozen=True)
class Part:
    """A part of the site: its command, and how it is ended when its parent has died."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    orphaned: signal.Signals = signal.SIGTERM
    """Signal that the kernel sends when we die. SIGTERM is for parts that must end processes of their own."""
    is_ready: Callable[[], bool] | None = None
    """Returns whether later parts can use it. With `None`, nothing waits for this part."""
    hushed: tuple[str, ...] = ()
    """Phrases of log lines that are omitted because they are of no use here."""


class Child:
    """A running part. It is the leader of its own session and process group."""

    def __init__(self, part: Part) -> None:
        """Start the part.

        Call from the main thread only: the kernel's parent-death signal depends on the starting thread.
        """
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
        """The id of the process and of its group."""
        return self.process.pid

    def has_ended(self) -> bool:
        """Return whether the process has ended. If so, kill what is left of its group."""
        if self.process.poll() is None:
            return False
        self.kill()
        return True

    def ending(self) -> str:
        """Return how it ended: "exit 3" or "killed by SIGKILL"."""
        code = self.process.returncode
        return f"exit {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def terminate(self) -> None:
        """Ask the process to end. It also ends the processes that it started."""
        self.process.terminate()

    def kill(self) -> None:
        """Kill what is left of its process group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def read(self) -> bytes | None:
        """Return the output since the last call.

        `b""` means that the output is closed, `None` that there is nothing new.
        """
        try:
            return os.read(self.output.fileno(), 65536)
        except BlockingIOError:
            return None

    def close(self) -> None:
        """Close our end of its output."""
        self.output.close()


def die_with(parent: int, orphaned: signal.Signals) -> Callable[[], None] | None:
    """Return a function that runs in a child between fork and exec, so that it receives `orphaned` when `parent` dies.

    The child checks its parent again and kills itself if the parent died before the request. Systems other than Linux
    have no such signal, so there the parts survive a kill -9 of `up` (docs/running.md).
    """
    if PRCTL is None:
        return None

    def bind() -> None:
        ask_for_signal(orphaned)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return bind


def ask_for_signal(number: signal.Signals) -> None:
    """Ask the kernel to send us `number` when the thread that created us ends.

    Do nothing on systems other than Linux.
    """
    if PRCTL is not None:
        PRCTL(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
