"""Waiting for other processes with a time limit. Only here may tests sleep."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import psutil

Answer = TypeVar("Answer")


def until(question: Callable[[], Answer], *, seconds: float, every: float = 0.1, what: str = "") -> Answer:
    """Call `question` until the answer is truthy and return it.

    Fail after `seconds` with `what` and the last answer.
    """
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds:g} s still not: {what or question} (last answer: {answer!r})")
        time.sleep(every)
    return answer


def pause(seconds: float) -> None:
    """Sleep for this many seconds."""
    time.sleep(seconds)


def is_gone(process: psutil.Process) -> bool:
    """Return whether the process has ended. A zombie, which nobody has reaped, has ended."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def until_gone(processes: Iterable[psutil.Process], *, seconds: float) -> None:
    """Wait until all have ended. Fail with the names of those that have not."""
    rest = list(processes)

    def none_left() -> bool:
        rest[:] = [process for process in rest if not is_gone(process)]
        return not rest

    try:
        until(none_left, seconds=seconds)
    except AssertionError:
        raise AssertionError(f"still running after {seconds:g} s: {rest}") from None
