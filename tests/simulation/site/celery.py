"""Celery's part: a queue of hints between processes, which may be lost, and the processes that follow them."""

from collections import deque
from collections.abc import Callable
from typing import Any

from celery import Task
from django.db import InterfaceError, OperationalError, reset_queries

from jobs import tasks
from tests.simulation.run import STORM_SECONDS
from tests.simulation.site.process import Process, SiteKernel

IDLE_SECONDS = 90.0
"""The longest pause between two sweeps. Without work left, beat is slower than in production, to save real time."""
QUIET_IDLE_SECONDS = 240.0
"""The same after the storm, when nothing fails any more. Below the five minutes after which a delay is a violation."""


class Queue:
    """The broker. `loses` is the share of hints that never arrive, `repeats` of those that arrive twice."""

    def __init__(self, kernel: SiteKernel) -> None:
        self.kernel, self.loses, self.repeats = kernel, 0.0, 0.0
        self.failures: list[str] = []
        """Tasks that ended with an exception that is not about the connection to the database."""
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque()
        self._idle: list[Process] = []

    def put(self, task: "Task[..., None]", kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Do what `Task.apply_async` does."""
        random = self.kernel.random
        for _ in range(2 if random.random() < self.repeats else 1):
            if random.random() >= self.loses:
                self._waiting.append((task.name, kwargs or {}))
        for process in self._idle[: len(self._waiting)]:
            self.kernel.wake(process.task, after=0.01 * random.random())

    def waiting(self, task: "Task[..., None]") -> int:
        """Do what `tasks._waiting` does."""
        return sum(name == task.name for name, _ in self._waiting)

    def take(self, process: Process) -> tuple[str, dict[str, Any]]:
        """Return the next hint, when there is one."""
        while not self._waiting:
            self._idle.append(process)
            try:
                self.kernel.sleep(60.0)
            finally:
                self._idle.remove(process)
        return self._waiting.popleft()

    def clear(self) -> None:
        """Lose everything, as Redis does that is restarted."""
        self._waiting.clear()


def work(process: Process, queue: Queue) -> None:
    """Follow hints for ever, as a worker does."""
    while True:
        name, kwargs = queue.take(process)
        process.kernel.sleep(0.001)
        process.task_began_at, process.sent_last = process.kernel.database_now, set()
        process.connection.close_if_stale()
        try:
            TASKS[name](**kwargs)
        except Exception as error:  # noqa: BLE001 - Celery records it and goes on
            if not isinstance(error, OperationalError | InterfaceError):
                queue.failures.append(f"{name}: {error!r}")
            process.kernel.log("{} gives up {}: {!r}", process.name, name, error)
            process.connection.close()
        reset_queries()


def beat(process: Process, queue: Queue, is_busy: Callable[[], bool], interval: float) -> None:
    """Ask for a sweep at every interval while there is work, else less often; and for a prune every ten minutes."""
    pause, prune_at = interval, process.kernel.seconds + 60
    while True:
        queue.put(tasks.sweep)
        if process.kernel.seconds >= prune_at:
            prune_at = process.kernel.seconds + 600
            queue.put(tasks.prune)
        longest = IDLE_SECONDS if process.kernel.seconds < STORM_SECONDS else QUIET_IDLE_SECONDS
        pause = interval if is_busy() else min(pause * 2, longest)
        process.kernel.sleep(pause)


TASKS: dict[str, Callable[..., None]] = {
    task.name: task for task in vars(tasks).values() if isinstance(task, Task) and task.name.startswith("jobs.tasks.")
}
