"""End a worker process in which a task hangs, so that its supervisor starts it again.

Celery's own time limits need a process per task. A single thread of our workers cannot be ended, and a thread that
waits for a silent peer may wait forever. Nothing is lost with the process, because the claims of its rows expire and
other workers take them.
"""

import logging
import os
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from typing import Any

from celery.signals import task_postrun, task_prerun

logger = logging.getLogger(__name__)

EXIT_CODE = 75
"""EX_TEMPFAIL of sysexits.h: try again. It differs from 1 (an error) and 0 (a requested stop)."""
LOOKS_PER_LIMIT = 20
MAX_PAUSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Running:
    """A running task and the thread that runs it."""

    name: str
    arguments: str
    thread: int
    since: float


class Watchdog:
    """Watches the tasks of this process in a thread of its own, which starts with the first task."""

    def __init__(self, limit_seconds: float) -> None:
        """Create the watchdog. `limit_seconds` is the maximum run time of a task."""
        self._limit = limit_seconds
        self._pause = min(limit_seconds / LOOKS_PER_LIMIT, MAX_PAUSE_SECONDS)
        self._running: dict[str, Running] = {}
        self._lock = threading.Lock()
        self._watching_in = 0

    def connect(self) -> None:
        """Connect Celery's signals for the start and end of tasks."""
        task_prerun.connect(self.begin, weak=False)
        task_postrun.connect(self.end, weak=False)

    def begin(self, *, task_id: str, task: Any, args: Any = (), kwargs: Any = None, **_: Any) -> None:
        """Record that this thread starts a task."""
        arguments = f"{args!r} {kwargs!r}"[:500]
        running = Running(str(task.name), arguments, threading.get_ident(), time.monotonic())
        with self._lock:
            self._running[task_id] = running
            if self._watching_in == os.getpid():
                return
            self._watching_in = os.getpid()  # a forked process has no other thread than this one
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def end(self, *, task_id: str, **_: Any) -> None:
        """Record that a task has ended, in any way."""
        with self._lock:
            self._running.pop(task_id, None)

    def overdue(self) -> Running | None:
        """Return the longest running task if it exceeds the limit, else None."""
        with self._lock:
            oldest = min(self._running.values(), key=lambda running: running.since, default=None)
        is_late = oldest is not None and time.monotonic() - oldest.since > self._limit
        return oldest if is_late else None

    def _watch(self) -> None:
        pause = threading.Event()  # never set
        while True:
            pause.wait(self._pause)
            if (stuck := self.overdue()) is not None:
                self._end_process(stuck)

    def _end_process(self, stuck: Running) -> None:
        """Log the hanging task and its stack, and end the process at once. A clean exit would wait for the thread."""
        try:
            frame = sys._current_frames().get(stuck.thread)
            where = "".join(traceback.format_stack(frame)) if frame is not None else "its thread is gone\n"
            logger.critical(
                "%s %s has run for longer than %g s; this worker ends with code %d. It stands at:\n%s",
                stuck.name, stuck.arguments, self._limit, EXIT_CODE, where,
            )  # fmt: skip
            logging.shutdown()
        finally:
            os._exit(EXIT_CODE)
