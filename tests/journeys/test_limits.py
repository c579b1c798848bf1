"""Tests that a worker with a hanging task, database or broker recovers by itself in bounded time.

The limits are shortened.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from dashboard.watchdog import EXIT_CODE
from tests.support import migrated, postgres, redis, waiting
from tests.support.blackhole import Blackhole
from tests.support.environments import environment

pytestmark = pytest.mark.stack
ROOT = Path(__file__).parents[2]
TASK_SECONDS = 4
RECOVERY_SECONDS = 40
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
INSERT = "INSERT INTO jobs_logfeed (project, due_at, failures, trouble) VALUES (%s, now(), 0, '')"


@dataclass
class Site:
    """A worker and a beat. Proxies in front of the database and the broker can stop responding."""

    home: Path
    database: Blackhole
    broker: Blackhole
    options: str = ""
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the tables."""
        migrated.fill_postgres(self.home)

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of each part."""
        (host, port), (redis_host, redis_port) = self.database.address, self.broker.address
        return environment(
            self.home / "state", 0,
            TRAINBOARD_TASK_SECONDS=str(TASK_SECONDS), TRAINBOARD_SWEEP_SECONDS="0.5", TRAINBOARD_LOG_LEVEL="INFO",
            DATABASE_URL=f"postgres://postgres@{host}:{port}/trainboard?connect_timeout=2{self.options}",
            REDIS_URL=f"redis://{redis_host}:{redis_port}/0", DJANGO_SETTINGS_MODULE="dashboard.settings",
        ) | more  # fmt: skip

    def run(self, *command: str, **more: str) -> None:
        """Run a program to its end."""
        subprocess.run(command, cwd=ROOT, env=self.environment(**more), check=True)

    def start(self, *command: str) -> "subprocess.Popen[bytes]":
        """Start a part. Its output goes to a file."""
        with (self.home / "log").open("ab") as log:
            made = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment(), stdout=log, stderr=log
            )
        self.processes.append(made)
        return made

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """Start the worker."""
        return self.start("-m", "tests.support.stuck")

    def start_beat(self) -> None:
        """Start a process that requests a sweep twice a second."""
        self.start("-m", "celery", "-A", "dashboard.celery", "beat", "--pidfile=", "--loglevel", "WARNING")

    @property
    def log(self) -> str:
        """The output of the parts."""
        return (self.home / "log").read_text(errors="replace")

    def give_work(self, name: str) -> None:
        """Make a row due that only a worker processes."""
        with psycopg.connect(postgres.url(self.home)) as database:
            database.execute(INSERT, [name])

    def is_done(self, name: str) -> bool:
        """Return whether a worker has processed the row."""
        with psycopg.connect(postgres.url(self.home)) as database:
            found = database.execute("SELECT due_at FROM jobs_logfeed WHERE project = %s", [name]).fetchone()
        return found is not None and found[0] is None

    def count(self, question: str) -> int:
        """Return a number from a query to the database itself."""
        with psycopg.connect(postgres.url(self.home)) as database:
            (found,) = database.execute(question).fetchone() or (0,)
        return int(found)

    def await_done(self, name: str) -> None:
        """Wait until it is done."""
        waiting.until(lambda: self.is_done(name), seconds=RECOVERY_SECONDS, what=f"{name} is done\n{self.log[-3000:]}")

    def close(self) -> None:
        """Kill all processes."""
        for process in self.processes:
            process.kill()
            process.wait()


@contextmanager
def running(options: str = "") -> Iterator[Site]:
    """Run the servers and their proxies."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb-limits-", dir="/tmp")))
        stack.enter_context(postgres.running(home))
        broker = stack.enter_context(redis.running("embedded")).removeprefix("redis+socket://")
        database = stack.enter_context(Blackhole(postgres.folder(home) / ".s.PGSQL.5432"))
        site = Site(home, database, stack.enter_context(Blackhole(Path(broker))), options)
        stack.callback(site.close)
        yield site


def test_a_task_that_hangs_ends_the_worker_with_a_code_of_its_own_and_says_where_it_hung() -> None:
    with running() as site:
        worker = site.start_worker()
        site.run(sys.executable, "-m", "tests.support.stuck", "hang")

        assert worker.wait(timeout=RECOVERY_SECONDS) == EXIT_CODE == 75

        log = site.log
        assert "tests.hang" in log
        assert "for godot" in log
        assert "has run for longer than 4 s" in log
        assert "threading.Event().wait()" in log, "the stack"


def test_a_database_that_falls_silent_in_the_middle_ends_the_worker_and_the_next_one_works() -> None:
    with running() as site:
        worker = site.start_worker()
        site.start_beat()
        with psycopg.connect(postgres.url(site.home)) as holder:
            holder.execute(INSERT, ["meanwhile"])
            holder.commit()
            holder.execute("LOCK TABLE jobs_logfeed")
            waiting.until(lambda: site.count(WAITING), seconds=RECOVERY_SECONDS, what="a task waits for the lock")
            site.database.silence()

        waiting.until(lambda: worker.poll() is not None, seconds=RECOVERY_SECONDS, what="the worker has ended")
        assert worker.returncode == EXIT_CODE
        assert "psycopg" in site.log.partition("has run for longer than 4 s")[2], "the stack"
        site.database.resume()
        site.start_worker()

        site.await_done("meanwhile")


def test_a_database_that_accepts_and_says_nothing_fails_tasks_and_not_the_worker() -> None:
    with running() as site:
        worker = site.start_worker()
        site.start_beat()
        site.give_work("before")
        site.await_done("before")

        site.database.silence()
        site.database.cut()
        site.give_work("meanwhile")
        waiting.until(lambda: "connection timeout expired" in site.log, seconds=RECOVERY_SECONDS, what="no connection")
        site.database.resume()

        site.await_done("meanwhile")
        assert worker.poll() is None


@pytest.mark.parametrize("lock", ["LOCK TABLE jobs_logfeed", "LOCK TABLE jobs_scope, jobs_job, jobs_logfeed"])
def test_a_lock_that_lasts_is_waited_for_in_turns(lock: str) -> None:
    with running("&options=-c%20lock_timeout%3D1s") as site:
        worker = site.start_worker()
        site.start_beat()
        with psycopg.connect(postgres.url(site.home)) as holder:
            holder.execute(INSERT, ["meanwhile"])
            holder.commit()
            holder.execute(lock)
            waiting.until(lambda: site.log.count("lock timeout") >= 3, seconds=RECOVERY_SECONDS, what=site.log[-500:])

        site.await_done("meanwhile")
        assert worker.poll() is None


def test_a_broker_that_falls_silent_is_connected_to_anew() -> None:
    with running() as site:
        worker = site.start_worker()
        site.start_beat()
        site.give_work("before")
        site.await_done("before")

        site.broker.silence()
        waiting.until(lambda: site.broker.resume() is None, seconds=1)
        site.give_work("meanwhile")

        waiting.until(lambda: site.is_done("meanwhile"), seconds=RECOVERY_SECONDS, what=f"done\n{site.log[-3000:]}")
        assert worker.poll() is None
