"""Readiness of the site: the state of each part in a few words without addresses. A few short queries."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from jobs.clock import database_now
from jobs.database import accepts_writes
from jobs.models import Heartbeat, Job, Scope
from jobs.queue.redis_state import check_redis
from jobs.stages import StageState
from jobs.stages import states as stage_states
from jobs.states import NOT_SENT

OK = "ok"
NO_ANSWER = "does not answer"
NO_WRITES = "accepts no writes"
REDIS_PATIENCE_SECONDS = 0.5
MAX_HEARTBEAT_AGE = timedelta(seconds=45)
"""A process writes a heartbeat every ten seconds and may miss three."""
MIN_OBSERVE_LAG = timedelta(minutes=1)
"""Observation is late if a poll has been due for this long, or for four intervals if that is longer."""
PARTS = ("database", "migrations", "redis", "worker", "beat", "sweep", "stages", "observation")
NEEDED = frozenset({"database", "migrations"})
"""Parts without which no page can be shown, so that a web process must not receive traffic. If another part fails,
pages show what is known. Removing every web process would then hide the failure and repair nothing."""


def get_readiness() -> dict[str, str]:
    """Return "ok" or the problem for each of `PARTS`. Parts that need an unavailable database are "unknown"."""
    parts = dict.fromkeys(PARTS, "unknown") | {"redis": str(check_redis(REDIS_PATIENCE_SECONDS)[0])}
    try:
        now = database_now()
        if not accepts_writes():
            connection.close()  # the next probe may reach the server that has taken over
            return parts | {"database": NO_WRITES}
        parts["database"] = OK
        executor = MigrationExecutor(connection)
        # The checks below need the tables.
        if missing := executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return parts | {"migrations": f"{len(missing)} migrations are not applied"}
        rows = list(Heartbeat.objects.values_list("part", "queues", "at"))
        fresh = [
            (part, queues) for part, queues, at in rows if abs(now - at) <= MAX_HEARTBEAT_AGE
        ]  # one from before the clock was set back counts for nothing
        late = observe_lag(now)
        whole, states = stage_states(now)
    except DatabaseError:
        return parts | {"database": NO_ANSWER}
    served = queues_served(fresh)
    idle = [queue.name for queue in settings.CELERY_TASK_QUEUES if queue.name not in served]
    return parts | {
        "migrations": OK,
        "worker": f"no worker for {' and '.join(idle)}" if idle else OK,
        "beat": OK if any(part == Heartbeat.Part.BEAT for part, _ in fresh) else "no beat has been heard of lately",
        "sweep": "none has completed lately" if whole.is_late else OK,
        "stages": describe_stages(states) if whole.finished_at is not None else "none has run",
        "observation": OK if late <= allowed_lag() else f"late by {late.total_seconds():.0f} s",
    }


def is_unsent_for_lack_of_a_worker(job: Job, now: datetime) -> bool:
    """Return whether a job or its cancellation is overdue at Vertex AI and no worker that sends them runs.

    One short query, only if it is overdue.
    """
    is_cancelling = job.cancel_requested_at is not None and job.cancel_sent_at is None
    is_waiting = job.state in NOT_SENT or (is_cancelling and not job.is_finished)
    if not is_waiting or job.due_at is None or now - job.due_at <= MAX_HEARTBEAT_AGE:
        return False
    fresh = Heartbeat.objects.filter(at__gte=now - MAX_HEARTBEAT_AGE).values_list("part", "queues")
    return settings.CELERY_TASK_ROUTES["jobs.tasks.advance"]["queue"] not in queues_served(list(fresh))


def observe_lag(now: datetime) -> timedelta:
    """Return how long the oldest due poll of a scope has been due, zero if none is due."""
    due = Scope.objects.filter(due_at__lte=now).order_by("due_at").values_list("due_at", flat=True).first()
    return now - due if due is not None else timedelta()


def allowed_lag() -> timedelta:
    """Return how late a poll may be before observation counts as late."""
    return max(MIN_OBSERVE_LAG, 4 * settings.POLL_INTERVAL)


def queues_served(fresh: Sequence[tuple[str, str]]) -> set[str]:
    """Return the queues that some worker serves. `fresh` are (part, queues) of recent heartbeats."""
    return {queue for part, queues in fresh if part == Heartbeat.Part.WORKER for queue in queues.split(",") if queue}


def describe_stages(states: Sequence[StageState]) -> str:
    """Return "ok", or the names of the stages of the sweep that fail or have not finished for long."""
    failing = [each.name for each in states if each.failing_since is not None]
    late = [each.name for each in states if each.is_late and each.failing_since is None]
    parts = [f"{words}: {', '.join(names)}" for words, names in (("failing", failing), ("late", late)) if names]
    return "; ".join(parts) or OK
