"""Kills parts of the site with -9 by a seeded plan and restarts them, until all jobs are requested and finished."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
from redis import Redis, RedisError

from tests.support import postgres, waiting
from tests.support.parts import House, Part, Plan
from tests.support.public import BUDGET_LABEL, Public

UNDONE = """
SELECT (SELECT count(*) FROM jobs_fallback WHERE ended_at IS NULL) + count(*) FROM jobs_job
WHERE ended_at IS NULL OR (remote_name <> '' AND NOT log_complete)
   OR (state IN ('failed', 'cancelled') AND error IS NULL)
"""
SCHEDULED = "SELECT count(*) FROM jobs_job WHERE request_key LIKE 'schedule-%'"

STALL_SECONDS = 90
AUDITS = 5
"""Maximum audits, a second or more apart. The last kill may leave a claim that the next sweep releases."""


@dataclass
class Chaos(House):
    """The site under test."""

    parts: dict[str, Part] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    next_kill: float = 0.0
    bag: list[str] = field(default_factory=list)
    wipes: int = 0
    stalls: int = 0
    warm_seconds: float = 0.0
    database: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        """Choose addresses and create the users."""
        super().__post_init__()
        site, plan = f"http://127.0.0.1:{self.web_port}", self.plan
        self.public = Public(
            site,
            jobs=plan.jobs,
            seed=plan.seed,
            scripts=plan.scripts,
            clock=self.clock,
            has_scheduled=lambda: self.count(SCHEDULED) > 0,
        )

    def prepare(self) -> None:
        """Create the tables and users, start everything, and measure how long a program takes to start."""
        self.run("-c", "import django; django.setup()\n"
                 "from dashboard.management.supervisor import prepare; prepare.database(print)\n"
                 "prepare.static_files(print)\n"
                 "from dashboard.management.demo import people; people.create('127.0.0.1')\n"
                 "from jobs.models import Budget, Policy; Policy.objects.update(ask_over_usd=1000)\n"
                 "Budget.objects.create(team_id=Policy.objects.get(team__name='vision').team_id, name='small',"
                 f" dimension='label', value='{BUDGET_LABEL}', amount_usd='0.01', passing='ask',"
                 f" created_at='{self.clock().isoformat()}')")  # fmt: skip
        began = time.time()
        self.run("-c", "import django; django.setup(); import dashboard.urls, dashboard.celery")
        self.warm_seconds = 2 * (time.time() - began)
        self.parts = {
            "redis": Part(self.start_redis, severity=2),
            "emulator": Part(self.start_emulator, severity=2),
            "worker": Part(self.start_worker, severity=3),
            "sender": Part(self.start_sender, severity=3),
            "beat": Part(self.start_beat),
            "web": Part(self.start_web, severity=2),
        }
        for part in self.parts.values():
            part.begin()
        if self.database is not None:
            self.parts["postgres"] = Part(self.start_postgres, severity=2, process=self.database)
        self.public.start()

    # ------------------------------------------------------------ the run
    def count_calls(self) -> None:
        """Record the emulator's counts before it is killed."""
        if told := self.control("GET", "truth"):
            self.calls.update({name: count for name, count in told["calls"].items() if "_emulator" not in name})
            for fault in told["faults"]:
                self.struck[fault["kind"]] += fault["struck"]

    def step(self) -> bool:
        """Advance the clock, start due parts, and kill one if due. Return True if everything is done."""
        wall = time.time()
        self.control("POST", "clock", {"now": self.clock().timestamp()})
        for part in self.parts.values():
            if not part.is_alive and wall >= part.due:  # also one that ended by itself, as a supervisor would
                part.begin()
        if self.kills.total() < self.plan.kills * (0.2 + self.public.progress) and wall >= self.next_kill:
            self.strike(wall)
        if self.stalls < self.plan.stalls and self.public.progress > (self.stalls + 1) / (self.plan.stalls + 2):
            self.stall()
        if self.public.failure is not None:
            raise self.public.failure
        return self.public.is_done and self.kills.total() >= self.plan.kills and self.undone() == 0

    def strike(self, wall: float) -> None:
        """Kill one part, chosen by severity. Some stay down for a while. At half of the kills, flush Redis once."""
        if self.kills.total() >= self.plan.kills // 2 and not self.wipes:
            with contextlib.suppress(RedisError), Redis(unix_socket_path=str(self.home / "redis")) as server:
                self.wipes += bool(server.flushall())
        warm = time.time() - self.warm_seconds  # on a busy machine, parts would only ever start
        alive = [name for name, part in self.parts.items() if part.is_alive and part.since < warm]
        if not alive:
            return
        if not any(name in alive for name in self.bag):
            self.bag = [name for name, part in self.parts.items() for _ in range(part.severity)]
            self.dice.shuffle(self.bag)
        name = next(name for name in self.bag if name in alive)
        self.bag.remove(name)
        if name == "emulator":
            self.count_calls()
        self.parts[name].kill()
        self.parts[name].due = wall + self.dice.choice([0, 0, 0, 1.0])
        self.kills[name] += 1
        self.next_kill = wall + self.dice.uniform(*self.plan.pause)

    def stall(self) -> None:
        """Suspend PostgreSQL for ninety seconds of the accelerated clock."""
        part = self.parts["postgres"]
        if part.process is None or not part.is_alive:
            return
        server = psutil.Process(part.process.pid)
        stopped = [server, *server.children(recursive=True)]
        for process in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        waiting.pause(STALL_SECONDS / self.plan.by)
        for process in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()
        self.stalls += 1

    def undone(self) -> int:
        """Return the number of jobs that are unfinished or whose logs are not read; -1 while the database is down."""
        return self.count(UNDONE)

    def count(self, question: str) -> int:
        """Return the number that an SQL question answers with; -1 while the database is down."""
        try:
            if self.plan.on_postgres:
                with psycopg.connect(postgres.url(self.home), connect_timeout=2) as database:
                    (count,) = database.execute(question).fetchone() or (-1,)
            else:
                lite = sqlite3.connect(self.state / "trainboard.sqlite3", timeout=5)
                (count,) = lite.execute(question).fetchone()
                lite.close()
        except (psycopg.Error, sqlite3.Error):
            return -1
        return int(count)

    def go(self) -> None:
        """Run until everything is done. Fail after the plan's time and report what is not done."""
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
        """Return {name: life} of everything created, as the emulator recorded it.

        `child` is the job of a pipeline, `trialStarts` the first starts of the custom jobs of a tuning job.
        """
        told = self.control("GET", "truth")
        lives = {life["name"]: life for part in ("jobs", "studies", "pipelines") for life in told[part]}
        for life in told["jobs"]:
            if "studySpec" in lives.get(life["owner"], {"document": {}})["document"]:
                lives[life["owner"]].setdefault("trialStarts", []).append(life["firstStart"])
            if life["owner"]:
                lives[life["owner"]]["child"] = lives.pop(life["name"])
        return lives

    def audit(self) -> str:
        """Return the output of the audit. Fail if a fault remains that the sweep should have repaired."""
        for part in self.parts.values():
            if not part.is_alive:
                part.begin()
        for _ in range(AUDITS - 1):
            with contextlib.suppress(AssertionError):
                return self.run("-m", "tests.support.hurry", "audit")
        return self.run("-m", "tests.support.hurry", "audit")


@contextmanager
def house(plan: Plan, state: Path) -> Iterator[Chaos]:
    """Set up a site, and leave no process running."""
    chaos = Chaos(plan, state)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, chaos.home, ignore_errors=True)
        if plan.on_postgres:
            chaos.database = stack.enter_context(postgres.running(chaos.home))
        stack.callback(lambda: [part.kill() for part in chaos.parts.values()])
        stack.callback(chaos.public.stop)
        yield chaos
