"""A program for tests: a part of the site whose clock runs many times faster than real time.

`python -m tests.support.hurry worker|sender|tell|audit`, and `web` for Granian. The domain takes the time as an
argument, so only the edges are changed: the database's clock, and limits measured with a stopwatch. HURRY_FROM is the
real time (seconds since 1970) at which both clocks agreed, HURRY_BY the factor, and HURRY_SKEW the error of this
process's own clock in seconds.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
QUEUES = {"worker": "celery", "sender": "sending"}
SKEW = timedelta(seconds=float(os.environ.get("HURRY_SKEW", "0")))
FROM, BY = float(os.environ.get("HURRY_FROM", "0")), float(os.environ.get("HURRY_BY", "1"))


def moment(wall: float, *, since: float = FROM, by: float = BY) -> float:
    """Return the accelerated time for a real time, both in seconds since 1970."""
    return since + (wall - since) * by


def now(*_: Any) -> datetime:
    """Return the accelerated time."""
    return datetime.fromtimestamp(moment(time.time()), UTC)


def hurry() -> None:
    """Make everything below read the accelerated clock."""
    import django
    from django.utils import timezone

    timezone.now = lambda: now() + SKEW  # type: ignore[assignment]
    django.setup()
    from jobs import clients, clock, tasks
    from jobs.observation import cadence
    from jobs.submission import resource_changes, submit
    from jobs.vertex import Timeout, VertexClient

    clock.read_database_clock = now
    clock.DatabaseClock.monotonic = lambda _: time.monotonic() * BY  # type: ignore[method-assign]
    timeout = Timeout(connect=5 / BY, read=25 / BY, total=30 / BY)
    one: dict[str, VertexClient] = {}
    clients._client = lambda **addresses: one.setdefault(  # type: ignore[assignment]
        addresses["endpoint"], VertexClient(timeout=timeout, **addresses | {"token_file": ""})
    )
    tasks.MAX_HINT_AGE = tasks.MAX_HINT_AGE * BY  # hints are sent in real time
    # Accelerated seconds are short compared with a commit.
    submit.MAX_START_SECONDS = resource_changes.MAX_START_SECONDS = 20.0
    for name in ("PATIENCE_SECONDS", "PROBE_SECONDS", "MAX_POLL_SECONDS", "SLOWEST_PAGE_SECONDS"):
        setattr(cadence, name, getattr(cadence, name) / BY)
    cadence.Stopwatch.now = property(  # type: ignore[assignment,method-assign]
        lambda self: self._now + timedelta(seconds=(time.monotonic() - self._began) * BY)
    )


# ---------------------------------------------------------------- what the parts do
def web() -> Any:
    """Return the site as a WSGI application: `granian --factory tests.support.hurry:web`."""
    hurry()
    from dashboard.wsgi import application

    return application


def tell() -> None:
    """Print every job with its events as JSON lines."""
    from jobs.models import FallbackAttempt, Job

    attempts = {
        str(job): (str(plan), n) for job, plan, n in FallbackAttempt.objects.values_list("job", "fallback", "number")
    }
    for job in Job.objects.order_by("requested_at", "pk").defer("estimate").iterator(chunk_size=200):
        events = job.events.order_by("id")
        row = {
            "pk": str(job.pk),
            "kind": job.kind,
            "error": job.error,
            "name": job.display_name,
            "request_key": job.request_key,
            "attempt": attempts.get(str(job.pk)),
            "state": job.state,
            "remote_name": job.remote_name,
            "restarts": job.restarts,
            "attempts": job.submit_attempts,
            "last_error": job.last_error,
            "started_at": job.started_at and job.started_at.isoformat(),
            "ended_at": job.ended_at and job.ended_at.isoformat(),
            "events": [
                {
                    "kind": event.kind,
                    "to": event.to_state,
                    "reason": event.reason,
                    "at": event.occurred_at.isoformat(),
                    "learned": event.recorded_at.isoformat(),
                    "message": event.message,
                    "replica": event.detail.get("replica", ""),
                    "restart": event.detail.get("restart", ""),
                    "once_key": event.once_key,
                    "is_certain": event.detail.get("is_certain", True),
                }
                for event in events
            ],
        }
        print(json.dumps(row))


def main() -> None:
    """Run the part named on the command line."""
    (part,) = sys.argv[1:]
    hurry()
    if part in QUEUES:
        from dashboard.celery import app

        where = ["--queues", QUEUES[part], "--hostname", f"{part}@%h", "--loglevel", "WARNING"]
        pool = ["--pool", "threads", "--concurrency", "4", "--without-mingle", "--without-gossip"]
        app.worker_main(["worker", *where, *pool])
    elif part == "audit":
        from django.core.management import call_command

        call_command("audit")
    else:
        tell()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
