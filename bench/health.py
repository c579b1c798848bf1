"""The cost of assessing 10,000 running jobs: CPU seconds a minute, as often as the turns of the log reader allow.

Run as a script. BENCH_RUNNING is the number of running jobs (10,000), in twenty projects. Each has a log, progress,
losses and utilization. A tenth of the jobs has a fault, which is recorded and sent once. The database is SQLite in this
process, so that its CPU time counts too. The peer is the assessment of every job once a minute, which no reader of logs
could feed.
"""

import os
import secrets
import sys
import tempfile
import time
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
STATE = tempfile.TemporaryDirectory(prefix="tb-health-", dir="/tmp")
os.environ |= {
    "TRAINBOARD_STATE": STATE.name,
    "TRAINBOARD_SECRET_KEY": secrets.token_hex(),
    "TRAINBOARD_LOG_LEVEL": "ERROR",
    "DATABASE_URL": f"sqlite:///{STATE.name}/health.sqlite3",
    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
}
import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402

from bench._table import Row, show  # noqa: E402
from jobs.clock import database_now  # noqa: E402
from jobs.models import Job, JobEvent, JobHealth, JobMetrics, LastSeen, LogLine, Team  # noqa: E402
from jobs.observation import health, log_turns  # noqa: E402
from jobs.observation.log_feeds import unread_jobs  # noqa: E402
from tests.support import samples  # noqa: E402

RUNNING = int(os.environ.get("BENCH_RUNNING", "10000"))
PROJECTS, LINES, POINTS = 20, 60, 240
MINUTE = timedelta(minutes=1)
MAX_CPU_SECONDS = 2.0
"""Target for a minute."""


def fill(now: datetime) -> None:
    """Write the running jobs, of which every tenth is stuck for some hours."""
    owner, began = User.objects.create(username="owner"), now - timedelta(hours=12)
    teams = [Team.objects.create(name=f"team{number}", project=f"project-{number}") for number in range(PROJECTS)]
    spec = samples.body()
    jobs = [
        Job(
            team=teams[number % PROJECTS], owner=owner, request_key=f"job-{number}", display_name=f"job-{number}",
            kind="custom_job", spec=spec, project=f"project-{number % PROJECTS}", region="us-central1",
            state="running", strategy="standard", machines="1 × a2-highgpu-1g", expected_seconds=86_400,
            estimate={}, requested_at=began, state_since=began, submitted_at=began, started_at=began,
            running_since=began, remote_name=f"projects/p/locations/l/customJobs/{number}", log_sources=[str(number)],
            hourly_usd=4,
        )
        for number in range(RUNNING)
    ]  # fmt: skip
    Job.objects.bulk_create(jobs, batch_size=500)
    LastSeen.objects.bulk_create([LastSeen(job=job, at=now) for job in jobs], batch_size=500)
    for start in range(0, RUNNING, 500):
        portion = list(enumerate(jobs[start : start + 500], start))
        JobMetrics.objects.bulk_create([metrics_of(job, number, began, now) for number, job in portion])
        JobEvent.objects.bulk_create([started(job, began) for _, job in portion])
        LogLine.objects.bulk_create([line for number, job in portion for line in lines_of(job, number, now)])


def started(job: Job, began: datetime) -> JobEvent:
    return JobEvent(
        job=job, kind="state", to_state="running", occurred_at=began, recorded_at=began, message="It runs.",
        once_key="running",
    )  # fmt: skip


def last_of(number: int, now: datetime) -> datetime:
    """Return when a job last wrote: hours ago if it is stuck."""
    return now - timedelta(hours=4) if number % 10 == 0 else now - MINUTE


def metrics_of(job: Job, number: int, began: datetime, now: datetime) -> JobMetrics:
    last = last_of(number, now).timestamp()
    first = began.timestamp() + 600
    steps = [[first + (last - first) * place / POINTS, place, 1 / (1 + place)] for place in range(POINTS + 1)]
    series = {"name": "loss", "source": "workerpool0-0", "every": 1, "points": steps, "last": steps[-1]}
    run = {"since": first, "began": 0.0, "until": last, "reached": 0.9, "middle_at": (first + last) / 2, "middle": 0.45}
    minutes = [[now.timestamp() - 60 * place, place, 0.8] for place in range(POINTS, 0, -1)]
    usage = [{"name": name, "source": "", "every": 1, "points": minutes} for name in ("accelerator", "CPU")]
    return JobMetrics(job=job, record={"series": [series], "runs": [run]}, usage={"series": usage}, usage_read_at=now)


def lines_of(job: Job, number: int, now: datetime) -> list[LogLine]:
    last = last_of(number, now)
    return [
        LogLine(
            job=job, timestamp=last - (LINES - place) * MINUTE, insert_id=str(place), replica="workerpool0-0",
            severity="INFO", message=f"step {place} loss {1 / (1 + place):.4f}",
        )
        for place in range(LINES)
    ]  # fmt: skip


def turns_of_a_minute(now: datetime) -> list[Job]:
    """Return the jobs that get their turn within a minute: a share of the reads that each project allows."""
    polls = round(MINUTE / settings.POLL_INTERVAL)
    found = []
    for number in range(PROJECTS):
        unread = unread_jobs(f"project-{number}")
        room = polls * log_turns.TAILS_PER_LOOK
        per_poll = len(log_turns.next_turns(unread, now, log_turns.TAILS_PER_LOOK))
        found += list(unread.filter(running_since__isnull=False)[: min(room, polls * per_poll)])
    return found


def cpu_of(jobs: list[Job], now: datetime) -> float:
    """Return the CPU seconds of assessing jobs."""
    polls = round(MINUTE / settings.POLL_INTERVAL)
    by_project: dict[str, list[UUID]] = {}
    for job in jobs:
        by_project.setdefault(job.project, []).append(job.pk)
    before = time.process_time()
    for keys in by_project.values():
        size = -(-len(keys) // polls)
        for start in range(0, len(keys), size):
            health.assess_each(keys[start : start + size], lambda _: nullcontext(), now=now)
    return time.process_time() - before


def main() -> None:
    call_command("migrate", verbosity=0)
    now = database_now()
    fill(now)
    due = turns_of_a_minute(now)
    cpu_of(due[:50], now)  # imports and caches
    first, again = cpu_of(due, now), cpu_of(due, now)
    each = max(first, again) / len(due)
    faults = JobHealth.objects.exclude(code="").count()
    print(f"{RUNNING:,} running jobs, {len(due):,} turns a minute, {faults:,} faults found, {1000 * each:.2f} ms each")
    whole = each * RUNNING
    against = "every job each minute"
    rows = [
        Row("CPU of a minute", again, whole, "s", again / whole, against, MAX_CPU_SECONDS),
        Row("the same, as all faults are new", first, whole, "s", first / whole, against),
    ]
    show(rows)
    if any(row.is_missed for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
