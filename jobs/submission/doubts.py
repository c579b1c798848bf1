"""Since when this process has known of a create without an answer, by its own monotonic clock. Pure.

The database's clock decides when a create that had no answer may be repeated. If that clock steps forward, it decides
too early, while the call is still on its way or lists still lag. So the same time must also have passed on a clock that
never steps. Each process measures from when it first learned of the attempt: a worker that has just started waits for
the whole time again.
"""

from datetime import datetime
from uuid import UUID

from jobs.models import Job

MAX_KEPT = 10_000
"""Attempts remembered. The oldest is forgotten first, which only makes its job wait for the whole time again."""


class Doubts:
    """The attempts that this process knows of. Threads may share it."""

    def __init__(self) -> None:
        self._known_since: dict[tuple[UUID, int, datetime | None], float] = {}

    def note(self, job: Job, monotonic: float) -> float:
        """Remember the recorded attempt of a job, and return since when it is known, in monotonic seconds."""
        key = (job.pk, job.submit_attempts, job.attempted_at)
        since = self._known_since.setdefault(key, monotonic)
        while len(self._known_since) > MAX_KEPT:
            self._known_since.pop(next(iter(self._known_since)), None)
        return min(since, monotonic)
