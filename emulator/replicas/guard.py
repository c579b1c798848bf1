"""Starts one replica for the emulator, passes signals on, and kills whatever is left at the end.

Run as a script (`python -I -S guard.py [--memory-mib N] [--cpu-seconds N] [--seconds N] -- PROGRAM ARG...`) with a
pipe from the emulator as standard input: `T` asks the replica to end (SIGTERM), `K` kills it, and the end of the pipe
means that the emulator has ended in whatever way: then everything is killed. The replica is the leader of its own
process group; on Linux it also dies with the guard, and what it left behind becomes the guard's child and is killed.
Exit status: the replica's, 128+n if signal n ended it. Standard library only; imports nothing of the emulator.
"""

import argparse
import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
START_ERROR = 128
NICENESS = 10
"""Of a replica: its training leaves the site and the emulator the processor time that they need."""
CHECK_SECONDS = 0.5
MAX_KILL_SECONDS = 5.0
PROC = Path("/proc")


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(arguments: list[str], cpu_seconds: int) -> int:
    """Fork and execute the replica; return its process id."""
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The signal comes for a death from now on; the guard may have died before (prctl(2)).
        if os.getppid() != guard:
            os._exit(1)
        # Standard input is the pipe with the guard's commands.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # What is ignored stays so over exec (execve(2)): Python ignores SIGPIPE, the guard SIGINT.
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.nice(NICENESS)
        if cpu_seconds:  # SIGXCPU at the first limit, SIGKILL at the second (getrlimit(2))
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        os.execv(arguments[0], arguments)  # noqa: S606  # starting it is the purpose
    except OSError as problem:
        os.write(2, f"failed to create containerd task: {problem}\n".encode())
    os._exit(START_ERROR)


def _descendants(ancestor: int) -> list[int]:
    """Return all living descendants of a process (Linux; elsewhere none)."""
    parents: dict[int, int] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            # The command's name stands in brackets, and may hold blanks and brackets (proc(5)).
            _, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        parents[int(folder.name)] = int(rest.split()[1])
    descendants = [pid for pid, parent in parents.items() if parent == ancestor]
    for pid in descendants:  # the list grows while it is walked
        descendants.extend(child for child, parent in parents.items() if parent == pid)
    return descendants


def _memory_bytes(processes: list[int]) -> int:
    total = 0
    for pid in processes:
        try:
            # The second field of statm: resident pages (proc(5)).
            total += int((PROC / str(pid) / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return total * resource.getpagesize()


def _kill(group: int) -> None:
    """Kill the replica's group and its descendants outside of it."""
    for pid in _descendants(os.getpid()):
        _signal(os.kill, pid)
    _signal(os.killpg, group)


def _signal(send: Callable[[int, int], None], target: int) -> None:
    try:
        send(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _kill_all(group: int) -> None:
    """Kill and collect everything that is left, for at most MAX_KILL_SECONDS."""
    deadline = time.monotonic() + MAX_KILL_SECONDS
    while time.monotonic() < deadline:
        _kill(group)
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.01)


def _reap(child: int) -> int | None:
    """Collect the processes that have ended; return the replica's status if it is one of them."""
    status = None
    while True:
        # Of any child: the guard is the subreaper of what the replica leaves behind (prctl(2)).
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            status = os.waitstatus_to_exitcode(raw)


def _read_commands(child: int) -> None:
    """Do what the emulator asks for."""
    commands = os.read(0, 16)
    if not commands or b"K" in commands:
        _kill(child)
    elif b"T" in commands:
        try:
            os.kill(child, signal.SIGTERM)
        except ProcessLookupError:
            return


def _watch(child: int, wake: int, memory_bytes: int, deadline: float) -> int:
    """Wait for the replica's end; return its status."""
    pause = CHECK_SECONDS if memory_bytes or deadline else None
    while True:
        readable, _, _ = select.select([0, wake], [], [], pause)
        if wake in readable:
            os.read(wake, 512)
        status = _reap(child)
        if status is not None:
            return status
        if 0 in readable:
            _read_commands(child)
        if memory_bytes and _memory_bytes(_descendants(os.getpid())) > memory_bytes:
            _kill(child)
        if deadline and time.monotonic() > deadline:
            _kill(child)


def main() -> int:
    """Run one replica; return its exit status."""
    parser = argparse.ArgumentParser()
    for name in ("--memory-mib", "--cpu-seconds", "--seconds"):
        parser.add_argument(name, type=int, default=0)
    parser.add_argument("arguments", nargs="+")
    args = parser.parse_args()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    # Only a signal that has a handler is written into the wake-up descriptor, which must not block.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = _start(args.arguments, args.cpu_seconds)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # the pipes belong to the replica alone: their end is the end of its output
        os.dup2(nothing, output)
    deadline = time.monotonic() + args.seconds if args.seconds else 0.0
    status = _watch(child, wake, args.memory_mib * 2**20, deadline)
    _kill_all(child)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
