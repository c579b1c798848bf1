"""Virtual time: greenlets that sleep, wake in order of time, and can be killed while they sleep."""

import heapq
import itertools
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

EPOCH = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Killed(BaseException):
    """The process that is running ends here, between two statements."""


class Kernel:
    """One run: the true time in seconds, who wakes when, and what has happened so far, to be told on a violation."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.seconds = 0.0
        self._waiting: list[tuple[float, int, greenlet]] = []
        self._numbers = itertools.count()
        self._wakes: dict[greenlet, int] = {}
        self._main = getcurrent()
        self.kill_share = 0.0
        self._logged: list[tuple[float, str, tuple[Any, ...]]] = []

    @property
    def now(self) -> datetime:
        """The true time, which is the database's."""
        return EPOCH + timedelta(seconds=self.seconds)

    def start(self, work: Callable[[], None], *, at: float | None = None) -> greenlet:
        """Let `work` begin now, or at a second of the run."""
        task = greenlet(work, parent=self._main)
        self._plan(task, self.seconds if at is None else at)
        return task

    def sleep(self, seconds: float) -> None:
        """Let others run until so many seconds have passed."""
        self._plan(getcurrent(), self.seconds + max(seconds, 0.0))
        self._main.switch()

    def work(self, seconds: float) -> None:
        """Sleep as a process that waits for an answer, and perhaps be killed before or after."""
        if self.kill_share and self.random.random() < self.kill_share:
            raise Killed
        self.sleep(seconds)
        if self.kill_share and self.random.random() < self.kill_share:
            raise Killed

    def wake(self, task: greenlet, *, after: float = 0.0) -> None:
        """Wake a sleeper sooner than it wanted to."""
        if not task.dead and task in self._wakes:
            self._plan(task, self.seconds + after)

    def kill(self, task: greenlet) -> None:
        """End a sleeper where it sleeps, so that no later statement runs."""
        if not task.dead:
            self._wakes.pop(task, None)
            task.parent = getcurrent()  # which goes on when it has ended
            task.throw(GreenletExit)

    def log(self, words: str, *values: Any) -> None:
        """Record an event. It is formatted only when the log is read."""
        self._logged.append((self.seconds, words, values))

    def messages(self) -> list[str]:
        """Return what has happened, one sentence a line."""
        return [f"{seconds:8.1f} s  {words.format(*values)}" for seconds, words, values in self._logged]

    def run(self, until: float) -> None:
        """Let time pass until a second of the run."""
        while self._waiting and self._waiting[0][0] <= until:
            seconds, number, task = heapq.heappop(self._waiting)
            if self._wakes.get(task) != number:  # killed, or woken at another time
                continue
            del self._wakes[task]
            self.seconds = seconds
            task.switch()
        self.seconds = until

    def _plan(self, task: greenlet, at: float) -> None:
        number = next(self._numbers)
        self._wakes[task] = number
        heapq.heappush(self._waiting, (at, number, task))
