"""Durations of the service's steps in seconds, which `--speed` shortens.

From observed jobs: queueing seconds, provisioning 2.5 to 4.5 minutes, tear-down about a minute. The documented minute
between the end of a job and its error is that tear-down: the error comes together with FAILED. Running time, timeouts
and everything that user code does are never scaled.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds at speed 1. `min_grace` is the minimum between SIGTERM and SIGKILL for a process.

    `worker_restart` and `exit_report` are the times from the end of a container to its next start, and to the line with
    which the service logs a final end (recorded 2026-02-23: 17 and 26 seconds).
    """

    speed: float = 1.0
    queue: float = 20.0
    provisioning: float = 150.0
    starting: float = 5.0
    grace: float = 30.0
    min_grace: float = 3.0
    teardown: float = 60.0
    cancel: float = 5.0
    worker_restart: float = 10.0
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
