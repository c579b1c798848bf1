"""How long the service takes for what it does, in seconds, and by how much `--speed` shortens it.

From observed jobs: queueing seconds, provisioning 2.5 to 4.5 minutes, tear-down about a minute. The minute that the
documentation puts between the end of a job and its error is that tear-down: the error comes together with FAILED.
Running time, timeouts and everything that user code does are never scaled.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds at speed 1. least_grace: what SIGTERM leaves a real process in any case."""

    speed: float = 1.0
    queue: float = 20.0
    provisioning: float = 150.0
    starting: float = 5.0
    grace: float = 30.0
    least_grace: float = 3.0
    teardown: float = 60.0
    cancel: float = 5.0
    worker_restart: float = 10.0
    job_retry: float = 30.0
    stockout_retry: float = 300.0
    pool_shrink: float = 300.0

    def scaled(self, service_seconds: float) -> float:
        """Return how long it takes here."""
        return service_seconds / self.speed

    @property
    def stop_grace(self) -> float:
        """Return the time between SIGTERM and SIGKILL here."""
        return max(self.scaled(self.grace), self.least_grace)


WORKER_RESTARTS = 5
"""Restarts of one worker on its machine after a non-zero exit ("Understand the custom training service")."""
JOB_RETRIES = 3
"""Retries of the whole job after that; also of transient exits."""
STOCKOUT_RETRIES = 3
"""Retries of a job for which there are no machines (Spot: PREEMPTION_RESTARTS)."""
PREEMPTION_RESTARTS = 6
"""Restarts of a Spot job after its machines were reclaimed ("Use Spot VMs with training")."""
INTERNAL_RETRIES = 2
TRANSIENT_EXITS = frozenset({6, 11, 134, 139})
"""SIGABRT and SIGSEGV, as prebuilt images and as custom containers report them."""
START_ERROR = 128
KILLED = frozenset({9, 137})
