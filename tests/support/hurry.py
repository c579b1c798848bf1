"""A program for tests: a part of the site whose clock runs many times faster than the wall's.

`python -m tests.support.hurry worker|submit|tell`. The domain is told the time, so only the edges are changed here:
what tasks read, and the limits that are measured with a stopwatch. HURRY_FROM is the wall's time (seconds since 1970)
at which both clocks showed the same, HURRY_BY how many times faster ours runs.
"""

import json
import os
import random
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FROM, BY = float(os.environ.get("HURRY_FROM", "0")), float(os.environ.get("HURRY_BY", "1"))
PARTS = "worker", "submit", "tell"


def moment(wall: float, *, since: float = FROM, by: float = BY) -> float:
    """Return the hurried time, in seconds since 1970, at a moment of the wall's clock."""
    return since + (wall - since) * by


def now(*_: Any) -> datetime:
    """Return the hurried time."""
    return datetime.fromtimestamp(moment(time.time()), UTC)


def hurry() -> None:
    """Let everything below read the hurried clock."""
    import django
    from django.utils import timezone

    timezone.now = now  # type: ignore[assignment]
    django.setup()
    from jobs.lifecycle import connection
    from jobs.lifecycle.watching import cadence
    from jobs.vertex import Timeout, VertexClient

    timeout = Timeout(connect=5 / BY, read=25 / BY, total=30 / BY)
    one: dict[str, VertexClient] = {}
    connection._client = lambda endpoint, logs: one.setdefault(  # type: ignore[assignment]
        endpoint, VertexClient(endpoint=endpoint, logging_endpoint=logs, timeout=timeout)
    )
    for name in ("PATIENCE_SECONDS", "PROBE_SECONDS", "LONGEST_LOOK_SECONDS", "SLOWEST_PAGE_SECONDS"):
        setattr(cadence, name, getattr(cadence, name) / BY)
    cadence.Stopwatch.now = property(  # type: ignore[assignment,method-assign]
        lambda self: self._now + timedelta(seconds=(time.monotonic() - self._began) * BY)
    )


# ---------------------------------------------------------------- what the parts do
def submit(count: int, seed: int) -> None:
    """Request `count` jobs, some with a cancellation; a repeat after a crash finds what was requested before."""
    from django.contrib.auth.models import User
    from django.db import transaction

    from jobs import lifecycle, tasks
    from jobs.models import Job, Team
    from tests.support import samples

    team, by = Team.objects.get(name="vision"), User.objects.get(username="engineer")
    for number in range(count):
        story, is_cancelled = fate(number, seed)
        body = samples.submission(name=f"chaos-{number}", labels={"emulator_script": story}, project=team.project)
        with transaction.atomic():
            job = lifecycle.request_job(
                submission=body,
                team=team,
                by=by,
                expected=timedelta(minutes=1),
                request_key=f"chaos-{number}",
                now=now(),
            )
            tasks.nudge_job(job.pk)
        if is_cancelled:
            lifecycle.cancel(Job.objects.get(pk=job.pk), by=by, now=now())


def fate(number: int, seed: int) -> tuple[str, bool]:
    """Return what happens to a job: the emulator's story, and whether somebody cancels it."""
    dice = random.Random(f"{seed} {number}")
    stories = os.environ.get("HURRY_STORIES", "short").split(",")
    return dice.choice(stories), dice.random() < 0.05


def tell() -> None:
    """Print every job with its events, as JSON lines."""
    from jobs.models import Job

    for job in Job.objects.order_by("requested_at", "pk").defer("estimate").iterator(chunk_size=200):
        events = job.events.order_by("id")
        row = {
            "pk": str(job.pk),
            "name": job.display_name,
            "state": job.state,
            "remote_name": job.remote_name,
            "restarts": job.restarts,
            "attempts": job.submit_attempts,
            "trouble": job.trouble,
            "started_at": job.started_at and job.started_at.isoformat(),
            "ended_at": job.ended_at and job.ended_at.isoformat(),
            "events": [
                {
                    "kind": event.kind,
                    "to": event.to_state,
                    "reason": event.reason,
                    "at": event.occurred_at.isoformat(),
                    "learned": event.recorded_at.isoformat(),
                    "sentence": event.sentence,
                    "replica": event.detail.get("replica", ""),
                }
                for event in events
            ],
        }
        print(json.dumps(row))


def main() -> None:
    """Be the part that the command line names."""
    part, *rest = sys.argv[1:]
    hurry()
    if part == "worker":
        from dashboard.celery import app

        app.worker_main(["worker", "--pool", "threads", "--concurrency", "4", "--without-mingle", "--without-gossip",
                         "--loglevel", "WARNING"])  # fmt: skip
    elif part == "submit":
        submit(*map(int, rest))
    else:
        tell()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
