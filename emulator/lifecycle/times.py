"""Durations of the service's steps in seconds, which `--speed` shortens.

From observed jobs: queueing two seconds, provisioning 2.5 to 4.5 minutes, tear-down about a minute. The documented
minute between the end of a job and its error is that tear-down: the error comes together with FAILED. Running time,
timeouts and everything that user code does are never scaled, nor is the first third of a second of a job.
"""

import zlib
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds at speed 1. `min_grace` is the minimum between SIGTERM and SIGKILL for a process.

    `worker_restart` and `exit_report` are the times from the end of a container to its next start, and to the line with
    which the service logs a final end (recorded 2026-02-23: 17 and 26 seconds). `noticing` is the time from the end of
    a program to the line that its tear-down begins (5 to 25 s), `teardown` the time from there to the end (37 to 50 s),
    and `publishing` the time until clients see the end (0.6 to 29 s; all recorded in February 2026). A job reads
    RUNNING `visible` after its settled start, or up to a second later because that is a whole second (10 to 13 s).
    `resource` and `change` are the times that a persistent resource takes to be created, and to be rebooted or deleted.
    """

    speed: float = 1.0
    queue: float = 2.0
    preparing: float = 1.0
    provisioning: float = 168.0
    starting: float = 5.0
    visible: float = 11.0
    resource: float = 150.0
    change: float = 60.0
    grace: float = 30.0
    min_grace: float = 3.0
    noticing: float = 12.0
    teardown: float = 43.0
    publishing: float = 5.0
    cancel: float = 3.0
    worker_restart: float = 17.0
    exit_report: float = 26.0
    job_retry: float = 30.0
    stockout_retry: float = 300.0
    shrink: float = 300.0

    def scaled(self, service_seconds: float) -> float:
        """Return the duration at this emulator's speed."""
        return service_seconds / self.speed

    @property
    def stop_grace(self) -> float:
        """The time between SIGTERM and SIGKILL at this speed."""
        return max(self.scaled(self.grace), self.min_grace)


QUEUED_SECONDS, MIN_PENDING_SECONDS = 0.3, 0.6
"""When a new job is QUEUED, after its creation (recorded 2026-07: 0.28 to 0.36 s), and the earliest time at which it is
PENDING after that. No speed shortens them."""
MIN_START_SECONDS = 1.0
"""The settled start of a job is at least this long after its creation."""


def provisional_start(name: str, created: float) -> float:
    """Return the `startTime` of a job that waits: 0.12 to 0.17 s after its creation, never a whole second."""
    moment = round(created + 0.12 + zlib.crc32(name.encode()) % 50_000 / 1e6, 6)
    return moment if moment % 1 else moment + 0.000_1


MAX_WORKER_RESTARTS = 5
"""Restarts of one worker on its machine after an error that is not permanent, such as an eviction.

Source of this and the next two: "Understand the custom training service".
"""
MAX_JOB_RETRIES = 3
"""Retries of the whole job after that, and after transient exits."""
MAX_STOCKOUT_RETRIES = 3
"""Retries of a job for which there are no machines (Spot: MAX_SPOT_RESTARTS)."""
MAX_SPOT_RESTARTS = 6
"""Restarts of a Spot job whose machines were reclaimed or were not available ("Use Spot VMs with training")."""
MAX_INTERNAL_RETRIES = 2
TRANSIENT_EXITS = frozenset({6, 11, 134, 139})
"""SIGABRT and SIGSEGV, as prebuilt images and as custom containers report them."""
START_ERROR_EXIT = 128
OUT_OF_MEMORY_EXITS = frozenset({9, 137})
