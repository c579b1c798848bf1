"""The served site: its history against Flower's list of as many tasks, and a board kept open by a thousand users.

Run as a script. BENCH_JOBS is the number of jobs (default 100,000), BENCH_VIEWERS that of viewers. Both servers have
the same jobs and get requests one at a time. Then every viewer opens the board and polls it every three seconds.
"""

import asyncio
import json
import os
import random
import re
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench._http import Connection, free_port, request_bytes  # noqa: E402
from tests.support import postgres, waiting  # noqa: E402

STATE = tempfile.TemporaryDirectory(prefix="tb-served-", dir="/tmp")
os.environ |= {
    "TRAINBOARD_STATE": f"{STATE.name}/var",
    "TRAINBOARD_SECRET_KEY": secrets.token_hex(),
    "TRAINBOARD_LOG_LEVEL": "ERROR",
    "DATABASE_URL": postgres.url(Path(STATE.name)),
    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
}
import django  # noqa: E402

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import Client  # noqa: E402

from bench._table import Figure, tell  # noqa: E402
from jobs.clock import database_now  # noqa: E402
from jobs.models import Job  # noqa: E402
from jobs.upkeep import count_all  # noqa: E402
from tests.support import many_jobs, multiply_jobs  # noqa: E402
from tests.support.visits import MANAGER, MEMBER  # noqa: E402

JOBS = int(os.environ.get("BENCH_JOBS", "100000"))
VIEWERS = int(os.environ.get("BENCH_VIEWERS", "1000"))
SECONDS, INTERVAL, CONNECTIONS = 30, 3.0, 32
ROUNDS = 10
MIN_RATIO = 10
"""Minimum ratio of the duration of Flower's pages to that of the site's."""
MAX_WAIT_MS = 1_000
"""Maximum 95th percentile of the time that a viewer waits for a response."""
START_SECONDS = 120
VERSION = re.compile(rb"X-Shown-Version[^0-9a-f]+([0-9a-f]{20})")


@contextmanager
def server(port: int, *command: str) -> Iterator[None]:
    """Run a server in the block, after it accepts connections."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        waiting.until(lambda: _accepts(port), seconds=START_SECONDS, what=" ".join(command))
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def site(port: int) -> tuple[str, ...]:
    """Return the command that serves the site with two processes, one per core."""
    where = ("--host", "127.0.0.1", "--port", str(port), "--workers", "2", "--blocking-threads", "4")
    return (sys.executable, "-m", "granian", *where, "--interface", "wsgi", "--no-ws", "dashboard.wsgi:application")


def flower(port: int, state: Path) -> tuple[str, ...]:
    """Return the command that serves Flower with a saved state and without looking for workers."""
    kept = ("--persistent=True", f"--db={state}", f"--max_tasks_in_memory={2 * JOBS}", "--enable_events=False")
    celery = (sys.executable, "-m", "celery", "--broker=memory://", "flower")
    return (*celery, "--address=127.0.0.1", f"--port={port}", *kept)


def cookie_of(username: str) -> str:
    """Sign a user in and return the session cookie."""
    browser = Client()
    browser.force_login(User.objects.get(username=username))
    return f"sessionid={browser.cookies['sessionid'].value}"


def median_ms(port: int, path: str, headers: Mapping[str, str]) -> float:
    """Return the median duration of sequential requests on one connection, in milliseconds, without the first two."""
    connection, times = HTTPConnection("127.0.0.1", port, timeout=60), []
    for _ in range(ROUNDS + 2):
        began = time.perf_counter()
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        answer.read()
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status == 200, (path, answer.status)
    connection.close()
    return statistics.median(times[2:])


def flower_path(start: int, search: str = "") -> str:
    """Return the address from which Flower's page loads fifty tasks, newest first."""
    query = {"draw": 1, "start": start, "length": 50, "search[value]": search}
    order = {"order[0][column]": 0, "columns[0][data]": "received", "order[0][dir]": "desc"}
    return f"/tasks/datatable?{urlencode(query | order)}"


def race(ours: int, theirs: int, cookie: str) -> list[Figure]:
    """Return how many times faster the history is than Flower's list of the same jobs, requested as browsers do.

    Opening Flower's list takes the page and then its rows; afterwards it requests only rows. A search on the site
    requests only a part of the page.
    """
    deep = Job.objects.order_by("-requested_at", "pk")[int(0.9 * JOBS)]
    before = quote(f"{deep.requested_at.isoformat()}~{deep.pk}")
    whole, part = {"Cookie": cookie}, {"Cookie": cookie, "HX-Request": "true"}
    asked = {
        "the newest": ("/history/", whole, ["/tasks", flower_path(0)]),
        "the 90,000th": (f"/history/?before={before}", whole, [flower_path(int(0.9 * JOBS))]),
        "a name": ("/history/?q=bert", part, [flower_path(0, "bert")]),
        "no such name": ("/history/?q=zebra", part, [flower_path(0, "zebra")]),
    }
    figures = []
    for what, (mine, headers, peer) in asked.items():
        one, other = median_ms(ours, mine, headers), sum(median_ms(theirs, each, {}) for each in peer)
        label, ratio = f"{what}: {one:,.0f} ms, Flower {other:,.0f} ms", other / one
        figures.append(Figure(label, ratio, "times", MIN_RATIO, is_rate=True))
    return figures


def write_tasks(state: Path) -> None:
    """Add the jobs to Flower as tasks."""
    rows = Job.objects.order_by("requested_at").values_list("pk", "display_name", "state", "requested_at")
    lines = (
        json.dumps({"uuid": str(pk), "name": name, "state": state_, "received": at.timestamp()})
        for pk, name, state_, at in rows.iterator()
    )
    command = (sys.executable, "-m", "bench.contenders.flower_state", str(state))
    subprocess.run(command, input="\n".join(lines), text=True, cwd=ROOT, check=True)


class Viewers:
    """Many browsers that show the board. They share a few connections, as behind a proxy."""

    def __init__(self, port: int, cookies: list[str]) -> None:
        self.port, self.cookies = port, cookies
        self.versions = [""] * VIEWERS
        self.waits: list[float] = []
        self.answers: dict[int, int] = {}
        self.due: asyncio.PriorityQueue[tuple[float, int]] = asyncio.PriorityQueue()

    async def open(self) -> float:
        """Open the board in all browsers, as fast as the site responds. Return the seconds that this took."""
        began, rest = time.monotonic(), iter(range(VIEWERS))

        async def some() -> None:
            connection = await Connection.open(self.port)
            for viewer in rest:
                await self._ask(connection, viewer)
            connection.close()

        await asyncio.gather(*(some() for _ in range(CONNECTIONS)))
        self.answers.clear()
        return time.monotonic() - began

    async def watch(self) -> None:
        """Poll from all browsers for SECONDS."""
        now = time.monotonic()
        for viewer in range(VIEWERS):
            self.due.put_nowait((now + random.uniform(0, INTERVAL), viewer))
        await asyncio.gather(*(self._connection(now + SECONDS) for _ in range(CONNECTIONS)))

    async def _connection(self, ends: float) -> None:
        connection = await Connection.open(self.port)
        while True:
            at, viewer = await self.due.get()
            if at > ends:
                self.due.put_nowait((at, viewer))
                break
            await asyncio.sleep(max(0, at - time.monotonic()))
            await self._ask(connection, viewer)
            self.waits.append(time.monotonic() - at)
            self.due.put_nowait((max(at + INTERVAL, time.monotonic()), viewer))
        connection.close()

    async def _ask(self, connection: Connection, viewer: int) -> None:
        headers = {"Cookie": self.cookies[viewer % len(self.cookies)], "Accept-Encoding": "gzip"}
        shown = {"HX-Request": "true", "X-Shown-Version": self.versions[viewer]}
        status, body = await connection.ask(request_bytes("GET", "/", headers | shown))
        self.answers[status] = self.answers.get(status, 0) + 1
        if found := VERSION.search(body):
            self.versions[viewer] = found[1].decode()


def watched(port: int, cookies: list[str]) -> list[Figure]:
    """Return latencies and responses for viewers who keep the board open for half a minute."""
    viewers = Viewers(port, cookies)
    opening = asyncio.run(viewers.open())
    asyncio.run(viewers.watch())
    waits = sorted(viewers.waits)
    failed = sum(number for status, number in viewers.answers.items() if status not in {200, 204})
    rate, wanted, unchanged = len(waits) / SECONDS, 0.95 * VIEWERS / INTERVAL, viewers.answers.get(204, 0) / len(waits)
    return [
        Figure(f"{VIEWERS:,} people open the board: boards a second", VIEWERS / opening, ""),
        Figure(f"{VIEWERS:,} viewers: requests a second", rate, "", wanted, is_rate=True),
        Figure("what half of them wait", 1000 * statistics.median(waits), "ms"),
        Figure("what 95 % wait at most", 1000 * waits[int(0.95 * len(waits))], "ms", MAX_WAIT_MS),
        Figure("answers that say that nothing has changed", 100 * unchanged, "%"),
        Figure("requests that failed", failed, "", 0),
    ]


def main() -> int:
    """Fill the database, start both servers, race, then run the viewers. Return 1 if a target is missed."""
    call_command("migrate", verbosity=0)
    many_jobs.fill(database_now())
    sum(count_all())  # the history needs it for its charts
    multiply_jobs.multiply(max(1, JOBS // 10_000))
    names = [MEMBER, MANAGER, *User.objects.values_list("username", flat=True)[:200]]
    cookies = [cookie_of(name) for name in names]
    state, ours, theirs = Path(STATE.name, "flower"), free_port(), free_port()
    write_tasks(state)
    call_command("collectstatic", verbosity=0, interactive=False)
    with server(ours, *site(ours)):
        with server(theirs, *flower(theirs, state)):
            figures = race(ours, theirs, cookies[0])
        figures += watched(ours, cookies)
    connections.close_all()
    return tell(figures)


if __name__ == "__main__":
    with STATE, postgres.running(Path(STATE.name)):
        sys.exit(main())
