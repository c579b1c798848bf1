"""A thread of each worker and of beat that regularly records that the process works, and stores its counts.

The row shows more than a list of processes: the process reaches the database, and beat has recently sent a sweep.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from celery.signals import after_task_publish, worker_ready, worker_shutdown
from django.db import Error, close_old_connections, connections

logger = logging.getLogger(__name__)

MAX_SILENCE_SECONDS = 60.0
"""Beat writes no heartbeat if it has sent nothing for so long, although its process runs."""


class HeartbeatThread:
    """Writes heartbeats from `start` until `stop`."""

    def __init__(
        self, process: str, part: str, *, queues: Sequence[str] = (), runs: Callable[[], bool] = lambda: True
    ) -> None:
        """Create the thread. `runs` returns whether the process does its work."""
        self._process, self._part, self._queues, self._runs = process, part, queues, runs
        self._steps: Any = None  # models need Django's apps
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Write a last heartbeat and stop. Return within a few seconds, even if the database does not answer."""
        self._stop.set()
        self._thread.join(timeout=3)

    def _run(self) -> None:
        from jobs.upkeep.heartbeats import INTERVAL_SECONDS  # noqa: PLC0415 - models need Django's apps

        is_over = False
        while not is_over:
            self._write()
            is_over = self._stop.wait(INTERVAL_SECONDS)
        self._write()
        connections.close_all()

    def _write(self) -> None:
        from jobs.clock import StepWatch, database_now  # noqa: PLC0415
        from jobs.upkeep.heartbeats import record_heartbeat, record_step, store_counts  # noqa: PLC0415

        try:
            close_old_connections()
            self._steps = self._steps or StepWatch()
            if step := self._steps.look():
                record_step(step, process=self._process, now=database_now())
            if self._runs():
                record_heartbeat(self._process, self._part, queues=self._queues, now=database_now())
            store_counts()
        except Error as error:  # the next one follows in a few seconds; readers see the delay
            logger.warning("no heartbeat could be written: %s", type(error).__name__)


def watch_worker() -> None:
    """Connect signals that start a worker's heartbeat when it is ready, and stop it at its shutdown."""
    worker_ready.connect(_start_worker, weak=False)


def watch_beat() -> None:
    """Start the heartbeat of beat. It is written only while beat sends tasks."""
    sent = [time.monotonic()]

    def note(**_: Any) -> None:
        sent[0] = time.monotonic()

    after_task_publish.connect(note, weak=False)
    name = f"beat@{socket.gethostname()}"
    HeartbeatThread(name, "beat", runs=lambda: time.monotonic() - sent[0] < MAX_SILENCE_SECONDS).start()


def _start_worker(*, sender: Any, **_: Any) -> None:
    queues = sorted(sender.app.amqp.queues.consume_from)
    thread = HeartbeatThread(str(sender.hostname), "worker", queues=queues)
    thread.start()
    worker_shutdown.connect(lambda **_: thread.stop(), weak=False)
