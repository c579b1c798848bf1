"""A rolling restart under load: two web, two worker and two sender processes while users watch and submit.

Run as a script. BENCH_WATCHERS is the number of users with an open board (200), BENCH_SUBMISSIONS the number of jobs
requested per minute (300), both in twenty teams. PostgreSQL, Redis and the emulator run beside the site. Requests are
sent to the web processes as a load balancer does: a successor gets them once it is ready, and the replaced process gets
no new ones and is stopped after its last. Workers are restarted one after another.
"""

import asyncio
import json
import logging
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench._http import Balancer, Connection, free_port, request_bytes  # noqa: E402
from tests.support import postgres, redis, waiting  # noqa: E402

STATE = tempfile.TemporaryDirectory(prefix="tb-restarts-", dir="/tmp")
EMULATOR_PORT = free_port()
RATES = ("CREATES", "READS", "LOG_READS")
os.environ |= {
    "TRAINBOARD_STATE": f"{STATE.name}/var",
    "TRAINBOARD_SECRET_KEY": secrets.token_hex(),
    "TRAINBOARD_LOG_LEVEL": "ERROR",
    "TRAINBOARD_VERTEX_ENDPOINT": f"http://127.0.0.1:{EMULATOR_PORT}",
    "DATABASE_URL": postgres.url(Path(STATE.name)),
    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    "PYTHONDONTWRITEBYTECODE": "",  # the image contains compiled modules
} | {f"TRAINBOARD_{each}_PER_MINUTE": "100000" for each in RATES}
import django  # noqa: E402

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import Client  # noqa: E402

from bench._table import Figure, tell  # noqa: E402
from jobs.clock import database_now  # noqa: E402
from jobs.models import Heartbeat, Job, Membership, Policy, Team  # noqa: E402
from jobs.requests.api_tokens import create_token  # noqa: E402
from tests.support import samples  # noqa: E402

WATCHERS = int(os.environ.get("BENCH_WATCHERS", "200"))
SUBMISSIONS = int(os.environ.get("BENCH_SUBMISSIONS", "300"))
TEAMS, TEAM_SIZE = 20, 10
SECONDS, INTERVAL = 60, 4.0
QUEUES = {"worker1": "celery", "sender1": "sending", "worker2": "celery", "sender2": "sending"}
SENT_WITHIN_SECONDS = 120
MAX_PAGE_MS = 200
VERSION = re.compile(rb"X-Shown-Version[^0-9a-f]+([0-9a-f]{20})")


def start(*command: str, nice: int = 0) -> "subprocess.Popen[bytes]":
    """Start a Python program of the site."""
    return subprocess.Popen(["nice", "-n", str(nice), sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL)


def start_web(port: int) -> "subprocess.Popen[bytes]":
    """Start a web process and wait until it is ready."""
    where = ("--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--blocking-threads", "4")
    process = start("-m", "granian", *where, "--interface", "wsgi", "--no-ws", "dashboard.wsgi:application")
    waiting.until(lambda: _answers(f"http://127.0.0.1:{port}/readyz"), seconds=60, what="a web process is ready")
    return process


def start_part(name: str) -> "subprocess.Popen[bytes]":
    """Start a worker or Celery beat as deploy/start.sh does."""
    celery = ("-m", "celery", "-A", "dashboard.celery", "--quiet", "--skip-checks")
    if name == "beat":
        return start(*celery, "beat", "--pidfile=", "--loglevel", "ERROR")
    pool = ("--pool", "threads", "--concurrency", "4", "--without-mingle", "--without-gossip", "--loglevel", "ERROR")
    return start(*celery, "worker", "--queues", QUEUES[name], *pool, "--hostname", f"{name}@%h", nice=10)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@dataclass(frozen=True)
class Person:
    """A user who watches the board, and whose program submits jobs."""

    cookie: str
    token: str


def make_people() -> list[Person]:
    """Create twenty teams of ten users and sign everybody in."""
    people = []
    for number in range(TEAMS * TEAM_SIZE):
        index = number % TEAMS
        team, _ = Team.objects.get_or_create(name=f"team {index:02d}", defaults={"project": f"project-{index:02d}"})
        Policy.objects.get_or_create(team=team, defaults={"ask_over_usd": 10_000})
        user = User.objects.create(username=f"person{number:03d}")
        Membership.objects.create(team=team, user=user, role="engineer")
        life = {"lifetime": timedelta(days=1), "now": database_now()}
        _, token = create_token(user, name="bench", scopes=("read", "submit"), **life)
        browser = Client()
        browser.force_login(user)
        people.append(Person(f"sessionid={browser.cookies['sessionid'].value}", token))
    return people


async def watch(balancer: Balancer, person: Person, begins: float, ends: float) -> None:
    """Poll the live part of the board as a browser does, until the end."""
    version, at = "", begins
    while at < ends:
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        headers = {"Cookie": person.cookie, "HX-Request": "true", "X-Shown-Version": version, "Accept-Encoding": "gzip"}
        _, body = await balancer.send("page", request_bytes("GET", "/", headers))
        if found := VERSION.search(body):
            version = found[1].decode()
        at = max(at + INTERVAL, time.monotonic())


async def submit(balancer: Balancer, people: list[Person], spec: dict[str, Any]) -> None:
    """Request jobs at a constant rate, each as the next user."""
    sent, began = [], time.monotonic()
    for number in range(SUBMISSIONS * SECONDS // 60):
        at = began + number * 60 / SUBMISSIONS
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        body = json.dumps({"spec": spec | {"displayName": f"bench-{number}"}, "expected_seconds": 180}).encode()
        headers = {"Authorization": f"Bearer {people[number % len(people)].token}", "Content-Type": "application/json"}
        headers["Idempotency-Key"] = f"bench-{number}"
        request = request_bytes("POST", "/api/v1/jobs", headers, body)
        sent.append(asyncio.create_task(balancer.send("submission", request)))
    await asyncio.gather(*sent)


async def restart_all(balancer: Balancer, parts: dict[str, "subprocess.Popen[bytes]"]) -> None:
    """Restart every process of the site, one after another."""
    await asyncio.sleep(SECONDS / 10)
    for web in list(balancer.webs):
        await balancer.restart(web)
    for name, part in list(parts.items()):
        part.terminate()
        await asyncio.to_thread(part.wait, 60)
        parts[name] = start_part(name)
        await asyncio.sleep(1)


async def push_clock() -> None:
    """Advance the emulator's clock in real time."""
    connection = await Connection.open(EMULATOR_PORT)
    while True:
        body = json.dumps({"now": time.time()}).encode()
        await connection.ask(request_bytes("POST", "/_emulator/clock", {"Content-Type": "application/json"}, body))
        await asyncio.sleep(0.5)


async def run(
    balancer: Balancer, parts: dict[str, "subprocess.Popen[bytes]"], people: list[Person], spec: dict[str, Any]
) -> None:
    """Watch, submit and restart at the same time."""
    clock, now = asyncio.create_task(push_clock()), time.monotonic()
    watchers = [
        watch(balancer, people[n % len(people)], now + INTERVAL * n / WATCHERS, now + SECONDS) for n in range(WATCHERS)
    ]
    await asyncio.gather(*watchers, submit(balancer, people, spec), restart_all(balancer, parts))
    await all_sent()
    clock.cancel()


async def all_sent() -> None:
    """Wait until Vertex AI has every requested job."""
    ends = time.monotonic() + SENT_WITHIN_SECONDS
    while time.monotonic() < ends and await Job.objects.filter(remote_name="").aexists():
        await asyncio.sleep(0.5)


def figures(balancer: Balancer) -> list[Figure]:
    """Return latencies, failures, and how the jobs of the site match the emulator's."""
    with urllib.request.urlopen(f"http://127.0.0.1:{EMULATOR_PORT}/_emulator/truth", timeout=60) as answer:
        lives = Counter(life["document"]["labels"]["trainboard_job"] for life in json.loads(answer.read())["jobs"])
    asked, rows = balancer.answers["submission", 201], {str(pk) for pk in Job.objects.values_list("pk", flat=True)}
    failed = sum(count for (_, status), count in balancer.answers.items() if status not in {200, 201, 204})
    pages, submissions = sorted(balancer.waits["page"]), sorted(balancer.waits["submission"])
    return [
        Figure(
            f"{WATCHERS} people: pages a second", len(pages) / SECONDS, "", 0.95 * WATCHERS / INTERVAL, is_rate=True
        ),
        Figure("what half of them wait for a page", 1000 * statistics.median(pages), "ms"),
        Figure("what 95 % wait at most", 1000 * pages[int(0.95 * len(pages))], "ms", MAX_PAGE_MS),
        Figure("answers that say that nothing has changed", 100 * balancer.answers["page", 204] / len(pages), "%"),
        Figure("submissions a minute", asked * 60 / SECONDS, "", 0.99 * SUBMISSIONS, is_rate=True),
        Figure("what half of the submissions take", 1000 * statistics.median(submissions), "ms"),
        Figure("what 95 % take at most", 1000 * submissions[int(0.95 * len(submissions))], "ms"),
        Figure("requests that failed", failed, "", 0),
        Figure("jobs requested and not at Vertex AI", len(rows - set(lives)), "", 0),
        Figure("jobs that Vertex AI has twice", sum(count > 1 for count in lives.values()), "", 0),
        Figure("answers without a job", abs(asked - len(rows)), "", 0),
    ]


def main() -> int:
    """Start everything, run, and print the results. Return 1 if a target is missed."""
    logging.disable(logging.INFO)
    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    people = make_people()
    connections.close_all()
    spec = samples.body(**samples.limited(0.05, {"labels": {"emulator_script": "short"}}))
    parts: dict[str, subprocess.Popen[bytes]] = {}
    with ExitStack() as stack:
        where = ("--host", "127.0.0.1", "--port", str(EMULATOR_PORT), "--state", f"{STATE.name}/emulator")
        emulator = start("-m", "emulator", *where, "--scripted")
        stack.callback(_end, emulator)
        health = f"http://127.0.0.1:{EMULATOR_PORT}/_emulator/health"
        waiting.until(lambda: _answers(health), seconds=60, what="emulator")
        parts.update({name: start_part(name) for name in (*QUEUES, "beat")})
        stack.callback(lambda: [_end(part) for part in parts.values()])
        waiting.until(lambda: Heartbeat.objects.count() > len(QUEUES), seconds=60, what="workers and beat")
        balancer = Balancer(start_web, [free_port(), free_port()])
        stack.callback(lambda: [_end(web.process) for web in balancer.webs])
        asyncio.run(run(balancer, parts, people, spec))
        told = figures(balancer)
        connections.close_all()
    return tell(told)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(timeout=60)


if __name__ == "__main__":
    with STATE, postgres.running(Path(STATE.name)), redis.running("embedded") as address:
        os.environ["REDIS_URL"] = address
        sys.exit(main())
