"""The parts of the site as processes that are killed with -9 by a seeded plan and started again, until all is done.

The emulator plays told stories on a clock that this driver pushes on; workers read the same hurried clock
(`tests.support.hurry`). A fifth of all API calls goes wrong.
"""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from dashboard.management.supervisor import ports
from tests.support import hurry, postgres, redis, waiting

ROOT = Path(__file__).parents[2]
FAULTS = ("429", "500", "503", "504", "html", "truncated", "slow", "reset", "lost")
"""All that the emulator knows but 400, 403 and 404, which are Vertex AI's answer and end a submission."""
SHARE = 0.2
"""Of all calls."""
UNDONE = """
SELECT count(*) FROM jobs_job WHERE ended_at IS NULL OR (remote_name <> '' AND NOT log_complete)
"""


@dataclass
class Plan:
    """One run. `by`: how many times faster than the wall's clock; `pause`: seconds between two kills, from and to."""

    jobs: int
    seed: int
    by: float
    stories: tuple[str, ...]
    kills: int
    pause: tuple[float, float]
    seconds: float
    redis: str = "embedded"
    on_postgres: bool = False


@dataclass
class Part:
    """A process that is started, killed, and started again; `start` returns it ready."""

    start: Callable[[], "subprocess.Popen[bytes]"]
    weight: int = 1
    process: "subprocess.Popen[bytes] | None" = None
    due: float = 0.0

    def kill(self) -> None:
        """End it and all of its children with -9, as a power cut would."""
        if self.process is None:
            return
        try:
            family = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        for each in (self.process, *family):
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue
        self.process.wait()
        waiting.until_gone(family, seconds=10)
        self.process = None


@dataclass
class Chaos:
    """The house under test."""

    plan: Plan
    state: Path
    parts: dict[str, Part] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.time)
    next_kill: float = 0.0
    database: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        """Choose addresses and the dice; the environment is that of every part."""
        self.dice = random.Random(self.plan.seed)
        self.port = ports.choose("127.0.0.1")
        self.url = f"http://127.0.0.1:{self.port}"
        self.home = Path(tempfile.mkdtemp(prefix="tb-chaos-", dir="/tmp"))
        ours = ("TRAINBOARD_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "PYTEST_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environment = clean | {
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
            "TRAINBOARD_STATE": str(self.state),
            "TRAINBOARD_VERTEX_ENDPOINT": self.url,
            "TRAINBOARD_POLL_SECONDS": "20",
            "TRAINBOARD_SWEEP_SECONDS": "0.4",
            "TRAINBOARD_CREATES_PER_MINUTE": "100000",
            "TRAINBOARD_READS_PER_MINUTE": "100000",
            "TRAINBOARD_LOG_READS_PER_MINUTE": "100000",
            "TRAINBOARD_LOG_LEVEL": "WARNING",
            "REDIS_URL": f"redis+socket://{self.home}/redis",
            "HURRY_FROM": repr(self.began),
            "HURRY_BY": repr(self.plan.by),
            "HURRY_STORIES": ",".join(self.plan.stories),
        }
        if self.plan.on_postgres:
            self.environment["DATABASE_URL"] = postgres.url(self.home)

    # ------------------------------------------------------------ starting
    def popen(self, name: str, *command: str, cwd: Path = ROOT) -> "subprocess.Popen[bytes]":
        """Start a part; what it says goes to a file."""
        with (self.state / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, env=self.environment, cwd=cwd, stdout=log, stderr=log)

    def python(self, name: str, *command: str) -> "subprocess.Popen[bytes]":
        """Start a part written in Python."""
        return self.popen(name, sys.executable, *command)

    def run(self, *command: str) -> str:
        """Run a Python program to its end and return what it printed."""
        done = subprocess.run(
            [sys.executable, *command], env=self.environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr[-4000:]}"
        return done.stdout

    def start_emulator(self) -> "subprocess.Popen[bytes]":
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--state", str(self.state / "emulator")]
        process = self.python("emulator", "-m", "emulator", *where, "--scripted")
        waiting.until(lambda: self.control("GET", "health"), seconds=30, every=0.05, what="the emulator answers")
        chance = 1 - (1 - SHARE) ** (1 / len(FAULTS))
        for kind in FAULTS:
            seconds = 10 / self.plan.by
            self.control(
                "POST", "faults",
                {"kind": kind, "probability": chance, "seed": self.dice.randrange(10**6), "seconds": seconds},
            )  # fmt: skip
        return process

    def start_redis(self) -> "subprocess.Popen[bytes]":
        path = self.home / "redis"
        path.unlink(missing_ok=True)
        options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(self.home)]
        return self.popen("redis", redis.program(self.plan.redis), *options)

    def start_postgres(self) -> "subprocess.Popen[bytes]":
        return postgres.start(self.home)

    def prepare(self) -> None:
        """Make the tables and the people, then start everything."""
        self.run("-c", "import django; django.setup()\n"
                 "from dashboard.management.supervisor import prepare; prepare.database(print)\n"
                 "from dashboard.management.demo import people; people.create('127.0.0.1')\n"
                 "from jobs.models import Policy; Policy.objects.update(ask_over_usd=1000)")  # fmt: skip
        self.parts = {
            "redis": Part(self.start_redis),
            "emulator": Part(self.start_emulator, weight=2),
            "worker": Part(lambda: self.python("worker", "-m", "tests.support.hurry", "worker"), weight=4),
            "beat": Part(
                lambda: self.python("beat", "-m", "celery", "-A", "dashboard.celery", "beat", "--loglevel", "WARNING",
                                    "--pidfile=")
            ),
            "submit": Part(
                lambda: self.python(
                    "submit", "-m", "tests.support.hurry", "submit", str(self.plan.jobs), str(self.plan.seed)
                ),
                weight=2,
            ),
        }  # fmt: skip
        for part in self.parts.values():
            part.process = part.start()
        if self.database is not None:
            self.parts["postgres"] = Part(self.start_postgres, process=self.database)

    # ------------------------------------------------------------ the emulator's control
    def control(self, verb: str, path: str, body: Any = None) -> Any:
        """Ask the emulator; None while it does not answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_emulator/{path}", data=data, method=verb)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, OSError, json.JSONDecodeError):
            return None

    def count_calls(self) -> None:
        """Remember what an emulator counted before it is killed."""
        if told := self.control("GET", "truth?job=nobody") or self.control("GET", "truth"):
            self.calls.update({name: count for name, count in told["calls"].items() if "_emulator" not in name})
            self.struck.update({fault["kind"]: fault["struck"] for fault in told["faults"]})

    # ------------------------------------------------------------ the run
    def step(self) -> bool:
        """Push the clock on, start what is due again, kill what is due to die; True when everything is done."""
        wall = time.time()
        self.control("POST", "clock", {"now": hurry.moment(wall, since=self.began, by=self.plan.by)})
        for name, part in self.parts.items():
            ended = part.process is not None and part.process.poll() is not None
            if ended and name == "submit" and part.process is not None and part.process.returncode == 0:
                continue
            if ended:  # a part that died by itself is started again, as a supervisor would
                part.process, part.due = None, wall
            if part.process is None and wall >= part.due:
                part.process = part.start()
        if self.kills.total() < self.plan.kills and wall >= self.next_kill:
            self.strike(wall)
        is_submitted = self.parts["submit"].process is not None and self.parts["submit"].process.poll() == 0
        return is_submitted and self.kills.total() >= self.plan.kills and self.undone() == 0

    def strike(self, wall: float) -> None:
        """Kill one part; some stay away for a while. Half-way, Redis forgets everything."""
        alive = [name for name, part in self.parts.items() if part.process is not None and part.process.poll() is None]
        names = [name for name in alive for _ in range(self.parts[name].weight)]
        name = "redis" if self.kills.total() == self.plan.kills // 2 and "redis" in alive else self.dice.choice(names)
        if name == "emulator":
            self.count_calls()
        self.parts[name].kill()
        self.parts[name].due = wall + self.dice.choice([0, 0, 0, 1.0])
        self.kills[name] += 1
        self.next_kill = wall + self.dice.uniform(*self.plan.pause)

    def undone(self) -> int:
        """Return how many jobs have not ended or whose logs have not been read; -1 while the database is away."""
        try:
            if self.plan.on_postgres:
                with psycopg.connect(postgres.url(self.home), connect_timeout=2) as database:
                    (count,) = database.execute(UNDONE).fetchone() or (-1,)
            else:
                lite = sqlite3.connect(self.state / "trainboard.sqlite3", timeout=5)
                (count,) = lite.execute(UNDONE).fetchone()
                lite.close()
        except (psycopg.Error, sqlite3.Error):
            return -1
        return int(count)

    def go(self) -> None:
        """Run until everything is done; fail after the plan's time with what is still open."""
        self.next_kill = time.time() + self.plan.pause[1]
        try:
            waiting.until(self.step, seconds=self.plan.seconds, every=0.03, what="all jobs have ended")
        except AssertionError as late:
            rows = [row for row in self.rows() if row["ended_at"] is None][:5]
            raise AssertionError(f"{late}; {self.undone()} are open, such as {json.dumps(rows, indent=1)}") from None
        self.count_calls()

    # ------------------------------------------------------------ what is true at the end
    def rows(self) -> list[dict[str, Any]]:
        """Return every job of the site with its events."""
        return [json.loads(line) for line in self.run("-m", "tests.support.hurry", "tell").splitlines()]

    def truth(self) -> dict[str, dict[str, Any]]:
        """Return {name: job} as only the emulator knows them."""
        return {job["name"]: job for job in self.control("GET", "truth")["jobs"]}

    def audit(self) -> str:
        """Return what the audit says; fail when something is broken."""
        return self.run("manage.py", "audit")


@contextmanager
def house(plan: Plan, state: Path) -> Iterator[Chaos]:
    """Make a house, and leave nothing running."""
    chaos = Chaos(plan, state)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, chaos.home, ignore_errors=True)
        if plan.on_postgres:
            chaos.database = stack.enter_context(postgres.running(chaos.home))
        stack.callback(lambda: [part.kill() for part in chaos.parts.values()])
        yield chaos
