"""The parts of a site under test as processes that can be killed with -9 and restarted on the same data.

The emulator follows scripts on a clock that a driver advances. Workers and web read the same accelerated clock
(`tests.support.hurry`). A fifth of all API calls fails, in every way that the emulator offers.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from dashboard.management.supervisor import ports
from tests.support import hurry, postgres, redis, waiting

ROOT = Path(__file__).parents[2]
ANYWHERE: tuple[dict[str, Any], ...] = (
    *({"kind": kind} for kind in ("429", "500", "503", "504", "html", "truncated", "slow", "reset", "lost")),
    {"kind": "429", "retry_after": 3},
)
REFUSALS = ("400", "403", "404", "409")
"""Not in response to a create, where they are final."""
BEHIND_SECONDS = 20
"""Lag of a list that misses the newest jobs, by the emulator's clock."""
KINDS = {"stale", *REFUSALS, *(fault["kind"] for fault in ANYWHERE)}
SHARE = 0.2
"""Share of all calls that fails. Reads fail more often, and so do creates that succeed without a response."""


@dataclass
class Plan:
    """One run. `by` is the factor of the accelerated clock, `pause` the range of seconds between two kills.

    `kills` are spread over the time in which jobs are requested, with a fifth more afterwards. `skew` is the difference
    between the clocks of the two workers in seconds. `stalls` is how often PostgreSQL is suspended for 90 seconds.
    """

    jobs: int
    seed: int
    by: float
    scripts: tuple[str, ...]
    kills: int
    pause: tuple[float, float]
    seconds: float
    redis: str = "embedded"
    on_postgres: bool = False
    skew: float = 0.0
    stalls: int = 0


@dataclass
class Part:
    """A process that is started, killed and restarted. `start` returns it when it is ready."""

    start: Callable[[], "subprocess.Popen[bytes]"]
    severity: int = 1
    process: "subprocess.Popen[bytes] | None" = None
    due: float = 0.0
    since: float = 0.0

    def begin(self) -> None:
        """Start the process."""
        self.process, self.since = self.start(), time.time()

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """Kill the process and all of its children with -9, as a power cut would."""
        if self.process is None:
            return
        try:
            family = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        everyone: list[Any] = [self.process, *family]
        for each in everyone:
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue
        self.process.wait()
        waiting.until_gone(family, seconds=10)
        self.process = None


def faults(plan: Plan, dice: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the emulator's faults in the format of its control plane."""
    reads = ({"kind": kind, "method": method} for kind in REFUSALS for method in ("*.get", "*.list"))
    creates = ({"kind": kind, "method": "*.create", "probability": 0.1} for kind in ("lost", "truncated"))
    usual = {"probability": 1 - (1 - SHARE) ** (1 / len(ANYWHERE)), "seconds": 10 / plan.by}
    lists = ({"kind": "stale", "method": "*.list", "probability": SHARE, "seconds": BEHIND_SECONDS},)
    for fault in (*creates, *lists, *ANYWHERE, *reads):
        yield usual | {"seed": dice.randrange(10**6)} | fault


@dataclass
class House:
    """The addresses of the parts of one run, and how to start each."""

    plan: Plan
    state: Path
    began: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        """Choose addresses, the random generator, and the environment of all parts."""
        self.dice = random.Random(self.plan.seed)
        self.port, self.web_port = ports.choose("127.0.0.1"), ports.choose("127.0.0.1")
        self.url = f"http://127.0.0.1:{self.port}"
        self.home = Path(tempfile.mkdtemp(prefix="tb-chaos-", dir="/tmp"))
        ours = ("TRAINBOARD_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "PYTEST_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environment = clean | {
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
            "TRAINBOARD_STATE": str(self.state),
            "TRAINBOARD_VERTEX_ENDPOINT": self.url,
            "TRAINBOARD_POLL_SECONDS": "20",
            "TRAINBOARD_SWEEP_SECONDS": "0.7",
            "TRAINBOARD_CREATES_PER_MINUTE": "100000",
            "TRAINBOARD_READS_PER_MINUTE": "100000",
            "TRAINBOARD_LOG_READS_PER_MINUTE": "100000",
            "TRAINBOARD_LOG_LEVEL": "WARNING",
            "REDIS_URL": f"redis+socket://{self.home}/redis",
            "HURRY_FROM": repr(self.began),
            "HURRY_BY": repr(self.plan.by),
        }
        if self.plan.on_postgres:
            self.environment["DATABASE_URL"] = postgres.url(self.home)

    def clock(self) -> datetime:
        """Return the accelerated time of every part."""
        return datetime.fromtimestamp(hurry.moment(time.time(), since=self.began, by=self.plan.by), UTC)

    # ------------------------------------------------------------ starting
    def popen(self, name: str, *command: str, cwd: Path = ROOT) -> "subprocess.Popen[bytes]":
        """Start a part with its output in a file."""
        half = self.plan.skew / 2
        environment = self.environment | {"HURRY_SKEW": str({"worker": half, "sender": -half}.get(name, 0.0))}
        with (self.state / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, cwd=cwd, stdout=log, stderr=log)

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
        """Start the emulator and add the planned faults."""
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--state", str(self.state / "emulator")]
        process = self.python("emulator", "-m", "emulator", *where, "--scripted")
        waiting.until(lambda: self.control("GET", "health"), seconds=30, every=0.05, what="the emulator answers")
        for fault in faults(self.plan, self.dice):
            self.control("POST", "faults", fault)
        return process

    def start_redis(self) -> "subprocess.Popen[bytes]":
        """Start an empty Redis that saves nothing."""
        path = self.home / "redis"
        path.unlink(missing_ok=True)
        options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(self.home)]
        return self.popen("redis", redis.program(self.plan.redis), *options)

    def start_web(self) -> "subprocess.Popen[bytes]":
        """Start Granian as `manage.py up` does."""
        where = ["--host", "127.0.0.1", "--port", str(self.web_port), "--workers", "1", "--blocking-threads", "4"]
        app = ["--interface", "wsgi", "--no-ws", "--log-level", "warning", "--factory", "tests.support.hurry:web"]
        return self.python("web", "-m", "granian", *where, *app)

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """Start the worker that polls."""
        return self.python("worker", "-m", "tests.support.hurry", "worker")

    def start_sender(self) -> "subprocess.Popen[bytes]":
        """Start the worker that creates and cancels."""
        return self.python("sender", "-m", "tests.support.hurry", "sender")

    def start_beat(self) -> "subprocess.Popen[bytes]":
        """Start Celery beat."""
        beat = ["-m", "celery", "-A", "dashboard.celery", "beat", "--loglevel", "WARNING", "--pidfile="]
        return self.python("beat", *beat)

    def start_postgres(self) -> "subprocess.Popen[bytes]":
        """Start PostgreSQL on its data. fsync is off, because the kernel keeps what a killed process has written."""
        return postgres.start(self.home)

    # ------------------------------------------------------------ the emulator's control
    def control(self, verb: str, path: str, body: Any = None) -> Any:
        """Send a request to the emulator's control plane. Return None while it does not respond."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_emulator/{path}", data=data, method=verb)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, OSError, json.JSONDecodeError):
            return None
