"""Start one replica for the emulator, pass signals on, and kill all remaining processes at the end.

Run as a script (`python -I -S guard.py [--memory-mib N] [--cpu-seconds N] [--seconds N] -- PROGRAM ARG...`) with a pipe
from the emulator as standard input: `T` ends the replica (SIGTERM), `K` kills it. When the pipe is closed, the emulator
has ended, and everything is killed. The replica is the leader of its own process group. On Linux it also dies with the
guard, and processes that it leaves behind become the guard's children and are killed. The exit status is that of the
replica, 128+n if signal n ended it. This module uses the standard library only and imports nothing of the emulator.
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
"""Niceness of a replica, so that training leaves processor time to the site and the emulator."""
CHECK_SECONDS = 0.5
MAX_KILL_SECONDS = 5.0
PROC = Path("/proc")


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(arguments: list[str], cpu_seconds: int) -> int:
    """Fork and execute the replica. Return its process id."""
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The signal is only sent for a later death; the guard may have died before (prctl(2)).
        if os.getppid() != guard:
            os._exit(1)
        # Standard input is the pipe with the guard's commands.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # Ignored signals remain ignored over exec (execve(2)): Python ignores SIGPIPE, the guard SIGINT.
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
    """Return all living descendants of a process on Linux, [] on other systems."""
    parents: dict[int, int] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            # The command's name is in parentheses and may contain blanks and parentheses (proc(5)).
            _, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        parents[int(folder.name)] = int(rest.split()[1])
    descendants = [pid for pid, parent in parents.items() if parent == ancestor]
    for pid in descendants:  # the list grows during the loop
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
    """Kill the replica's group and its descendants in other groups."""
    for pid in _descendants(os.getpid()):
        _signal(os.kill, pid)
    _signal(os.killpg, group)


def _signal(send: Callable[[int, int], None], target: int) -> None:
    try:
        send(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _kill_all(group: int) -> None:
    """Kill and reap all remaining processes, for at most MAX_KILL_SECONDS."""
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
    """Reap the processes that have ended. Return the replica's status if it is one of them."""
    status = None
    while True:
        # Wait for any child: the guard is the subreaper of processes that the replica leaves behind (prctl(2)).
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            status = os.waitstatus_to_exitcode(raw)


def _read_commands(child: int) -> None:
    """Execute the emulator's commands."""
    commands = os.read(0, 16)
    if not commands or b"K" in commands:
        _kill(child)
    elif b"T" in commands:
        try:
            os.kill(child, signal.SIGTERM)
        except ProcessLookupError:
            return


def _watch(child: int, wake: int, memory_bytes: int, deadline: float) -> int:
    """Wait for the replica's end and return its status."""
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
    """Run one replica and return its exit status."""
    parser = argparse.ArgumentParser()
    for name in ("--memory-mib", "--cpu-seconds", "--seconds"):
        parser.add_argument(name, type=int, default=0)
    parser.add_argument("arguments", nargs="+")
    args = parser.parse_args()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    # Only signals with a handler are written to the wake-up descriptor, which must not block.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = _start(args.arguments, args.cpu_seconds)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # only the replica holds the pipes, so that they end with its output
        os.dup2(nothing, output)
    deadline = time.monotonic() + args.seconds if args.seconds else 0.0
    status = _watch(child, wake, args.memory_mib * 2**20, deadline)
    _kill_all(child)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
