"""Trainboard's engine in one process: `watcher.py race|scale|submit URL FOLDER`. Prints its figures as JSON.

`race` writes rows for the jobs in the emulator, then polls them as fast as it can. `scale` polls them for a while at
the normal rate, as one worker would, while they change. `submit` requests and submits jobs.
"""

import json
import os
import resource
import statistics
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import django
from redis import Redis

from bench.contenders.fleet import CYCLES, INTERVAL, PROJECT, REGION, SUBMISSIONS, THREADS, WATCH_SECONDS, clock

VERB, URL, FOLDER = sys.argv[1:]
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    "TRAINBOARD_STATE": FOLDER,
    "TRAINBOARD_VERTEX_ENDPOINT": URL,
    "TRAINBOARD_INSTANCE": "bench",
}
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models.signals import post_save  # noqa: E402

import dashboard.celery  # noqa: E402, F401 - part of a worker's memory
from dashboard.management.demo import people as demo  # noqa: E402
from dashboard.management.supervisor import prepare  # noqa: E402
from jobs import requests, spec, states, steps  # noqa: E402
from jobs.clients import client  # noqa: E402
from jobs.clock import DatabaseClock  # noqa: E402
from jobs.models import Job, JobEvent, LastSeen, Policy, Scope, Team  # noqa: E402
from jobs.upkeep import repair  # noqa: E402


def people() -> Any:
    """Create missing tables and users. Return the team and one of its engineers."""
    prepare.database(lambda _: None)
    demo.create("127.0.0.1")
    Policy.objects.update(ask_over_usd=1_000_000)
    return Team.objects.get(name="vision"), User.objects.get(username="engineer")


def make_rows() -> int:
    """Write a row with its events for each job in the emulator, as if Trainboard had submitted and polled it."""
    team, owner = people()
    listed = client().list("custom_job", project=PROJECT, region=REGION, filter='labels.trainboard_instance="bench"')
    rows, events = [], []
    for number, remote in enumerate(listed):
        began, runs = remote.create_time, remote.start_time
        state = states.from_vertex(remote.state)
        job = Job(
            team=team, owner=owner, display_name=remote.display_name, project=PROJECT, region=REGION, strategy="spot",
            machines="1 × n1-standard-4", spec=dict(remote.raw), request_key=f"bench-{number}", expected_seconds=3600,
            estimate={"lines": [["machine", "1.0"]] * 8}, remote_name=remote.name, remote_updated_at=remote.update_time,
            state=state, state_since=runs, requested_at=began, submitted_at=began, started_at=runs, running_since=runs,
            log_complete=True,
        )  # fmt: skip
        rows.append(job)
        before = ""
        for to in ("approved", "submitting", state):
            at = runs if to == state else began
            events.append(
                JobEvent(job=job, kind="state", from_state=before, to_state=to, occurred_at=at, recorded_at=at,
                         message="bench", once_key=f"state:{to}")
            )  # fmt: skip
            before = to
    Job.objects.bulk_create(rows, batch_size=500)
    JobEvent.objects.bulk_create(events, batch_size=500)
    Scope.objects.create(project=PROJECT, region=REGION, kind="custom_job", due_at=clock())
    return len(rows)


def prepared() -> bool:
    """Whether an earlier round wrote the rows."""
    return Job._meta.db_table in connection.introspection.table_names()


@dataclass(frozen=True)
class At:
    """The database's clock, stopped, so that one poll writes every response with the same time."""

    moment: datetime

    def now(self) -> datetime:
        """Return the time."""
        return self.moment

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()


def race() -> dict[str, float]:
    """Poll repeatedly without a pause."""
    count = Job.objects.count() if prepared() else make_rows()
    settings.READS_PER_MINUTE = 1_000_000
    seconds, cpu = [], []
    for _ in range(CYCLES + 1):
        now = clock()
        Scope.objects.update(due_at=now)
        began, before = time.perf_counter(), time.process_time()
        (scope_id,) = steps.due_scopes(now)
        steps.observe(scope_id, clock=At(now))
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - before)
        assert LastSeen.objects.filter(at=now).count() == count, "a look has to see every job"
    median = statistics.median(seconds[1:])
    return {"jobs_per_second": count / median, "cpu_ms": statistics.median(cpu[1:]) * 1000 / count}


def scale() -> dict[str, float]:
    """Run as the only worker for a while, sweeping every half second. A delay ends when the event is written."""
    settings.POLL_INTERVAL = INTERVAL
    Redis.from_url(settings.REDIS_URL).flushall()  # the race used up rate limits
    delays: list[float] = []
    began = clock()

    def written(instance: JobEvent, **_: Any) -> None:
        if instance.kind == "state" and instance.occurred_at > began:
            delays.append((clock() - instance.occurred_at).total_seconds())

    post_save.connect(written, sender=JobEvent)
    cycles, ends = [], time.monotonic() + WATCH_SECONDS
    print("ready", flush=True)
    while time.monotonic() < ends:
        now = clock()
        repair(now)
        for scope_id in steps.due_scopes(now):
            start = time.perf_counter()
            steps.observe(scope_id, clock=At(now))
            cycles.append(time.perf_counter() - start)
        time.sleep(0.5)
    delays.sort()
    return {
        "changes": len(delays),
        "p50_seconds": delays[len(delays) // 2],
        "p95_seconds": delays[int(len(delays) * 0.95)],
        "slowest_cycle_seconds": max(cycles),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def submit() -> dict[str, float]:
    """Submit jobs one at a time and in threads. `turn` is the place of another team's first job in the queue."""
    team, owner = people()
    settings.CREATES_PER_MINUTE = settings.READS_PER_MINUTE = 1_000_000
    body = json.loads((Path(__file__).parent / "job.json").read_text())
    read, findings = spec.read("custom_job", body)
    assert read is not None, findings
    submission = spec.Submission(kind="custom_job", project=PROJECT, region="europe-west4", job=read)

    def request(count: int, team: Team, by: User) -> list[Job]:
        return [
            requests.request_job(submission=replace(submission, project=team.project), team=team, by=by,
                                  expected=INTERVAL, request_key=f"submit-{uuid.uuid4()}", now=clock())
            for _ in range(count)
        ]  # fmt: skip

    def send(job: Job) -> None:
        steps.advance(job.pk, clock=DatabaseClock())

    requested = time.perf_counter()
    jobs = request(SUBMISSIONS, team, owner)
    began, cpu = time.perf_counter(), time.process_time()
    for job in jobs:
        send(job)
    ended, spent = time.perf_counter(), time.process_time() - cpu
    more = request(SUBMISSIONS, team, owner)
    threads = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(send, more))
    together = time.perf_counter() - threads
    request(100, team, owner)
    theirs = {job.pk for job in request(5, Team.objects.get(name="speech"), User.objects.get(username="stranger"))}
    turns = steps.due_jobs(clock())
    return {
        "requests_per_second": SUBMISSIONS / (began - requested),
        "submits_per_second": SUBMISSIONS / (ended - began),
        "submits_per_second_together": SUBMISSIONS / together,
        "cpu_ms": spent * 1000 / SUBMISSIONS,
        "turn": turns.index(next(pk for pk in turns if pk in theirs)),
    }


if __name__ == "__main__":
    print(json.dumps({"race": race, "scale": scale, "submit": submit}[VERB]()))
