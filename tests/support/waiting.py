"""Waiting for other processes, always with an end: the only place where tests may sleep."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import psutil

Answer = TypeVar("Answer")


def until(question: Callable[[], Answer], *, seconds: float, every: float = 0.1, what: str = "") -> Answer:
    """Ask until the answer is truthy and return it; fail after `seconds` with `what` and the last answer."""
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds:g} s still not: {what or question} (last answer: {answer!r})")
        time.sleep(every)
    return answer


def pause(seconds: float) -> None:
    """Let so many seconds pass."""
    time.sleep(seconds)


def is_gone(process: psutil.Process) -> bool:
    """Tell whether the process has ended; one that nobody reaped (a zombie) has."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def until_gone(processes: Iterable[psutil.Process], *, seconds: float) -> None:
    """Wait until every one has ended; fail with the names of those that have not."""
    rest = list(processes)

    def none_left() -> bool:
        rest[:] = [process for process in rest if not is_gone(process)]
        return not rest

    try:
        until(none_left, seconds=seconds)
    except AssertionError:
        raise AssertionError(f"still running after {seconds:g} s: {rest}") from None
