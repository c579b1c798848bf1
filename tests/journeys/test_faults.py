"""Faults of the database and of clocks behind a running site: worker and beat are processes, PostgreSQL is a server.

The database's clock is moved by a function of the same name that stands before the server's own.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support import migrated, postgres, redis, waiting
from tests.support.running_emulator import Running, running
from tests.support.upgrade import ROOT, Version, site_environment

pytestmark = pytest.mark.stack

SECONDS = 120
"""The longest wait on a busy machine; each takes a few seconds on an idle one."""
JOBS = "/v1/projects/vision-research/locations/us-central1/customJobs"
CLOCK = """
CREATE TABLE IF NOT EXISTS clock_is_ahead AS SELECT interval '0' AS time;
CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT pg_catalog.clock_timestamp() + time FROM public.clock_is_ahead';
ALTER DATABASE trainboard SET search_path = public, pg_catalog;
"""
RUNNING = ("running", "pending", "queued")
SWEPT = "SELECT answered_at FROM jobs_upkeep WHERE name = 'sweep'"
SITE = """
import django; django.setup()
import sys
from datetime import timedelta
from django.contrib.auth.models import User
from jobs import requests
from jobs.clock import database_now
from jobs.fallback import Plan, Step
from jobs.models import Membership, Policy, Team
from jobs.requests import api_key, schedules
from tests.support import samples
what, name, teams = sys.argv[1:4]
team, _ = Team.objects.get_or_create(name=teams, defaults={"project": "vision-research"})
Policy.objects.update_or_create(team=team, defaults={"ask_over_usd": 0 if what == "ask" else 1000})
team = Team.objects.get(pk=team.pk)
user, _ = User.objects.get_or_create(username=f"owner of {teams}")
Membership.objects.get_or_create(team=team, user=user, role="engineer")
submission = samples.submission(name=name, **samples.limited(0.1, {}, least=4))
now, expected = database_now(), timedelta(minutes=6)
if what == "schedule":
    schedules.create_schedule(schedules.Times(name, "0 6 1 1 *", "UTC"), submission=submission, team=team, by=user,
                              expected=expected, now=now)
else:
    plan = Plan((Step("standard"),)) if what == "attempts" else None
    asked = requests.RequestOptions(team, user, expected, now, plan=plan)
    requests.request_jobs([submission], asked, request_key=api_key(name))
"""
BEAT = """
import time
own = time.time
time.time = lambda: own() - BEHIND
from celery.__main__ import main
main()
"""


class Site(Version):
    """The present version with its server, broker and an emulator whose jobs follow scripts."""

    vertex: Running

    def ask(self, question: str, *values: Any) -> Any:
        """Return the first value of the first row, None if there is none."""
        with psycopg.connect(postgres.url(self.home), autocommit=True) as database:
            found = database.execute(question, values)
            row = found.fetchone() if found.description else None
        return row[0] if row is not None else None

    def request(self, name: str, what: str = "job", team: str = "vision") -> None:  # type: ignore[override]
        """Let a process of its own request a job, further attempts or a schedule. Repeating it repeats the key."""
        self.run("-c", SITE, what, name, team)

    def set_clock(self, ahead: str) -> None:
        """Set how far the database's clock is ahead, such as "1 day"."""
        self.ask("UPDATE clock_is_ahead SET time = %s::interval", ahead)

    def start_beat(self, behind: float = 0.0) -> "subprocess.Popen[bytes]":
        """Start beat on a machine whose clock is so many seconds behind that of the worker."""
        options = ["-A", "dashboard.celery", "beat", "--pidfile=", "--loglevel", "WARNING"]
        return self.start("beat", "-c", BEAT.replace("BEHIND", str(behind)), *options)

    def end(self, *parts: "subprocess.Popen[bytes]") -> None:
        """Kill parts."""
        for part in parts:
            part.kill()
            part.wait()
            self.processes.remove(part)

    def wait_for_sweep(self) -> None:
        """Wait until another sweep has finished."""
        before = self.ask(SWEPT)
        waiting.until(lambda: self.ask(SWEPT) not in (None, before), seconds=SECONDS, what="a sweep has finished")

    def jobs(self) -> dict[str, list[str]]:
        """Return the states of the jobs at Vertex AI by display name."""
        found: dict[str, list[str]] = {}
        for job in self.vertex.call("GET", f"{JOBS}?pageSize=100")["customJobs"]:
            found.setdefault(job["displayName"], []).append(job["state"].removeprefix("JOB_STATE_"))
        return found

    def wait_for(self, name: str, *states: str) -> None:
        """Wait until the newest job whose name begins so is in one of these states in the database."""
        question = "SELECT state FROM jobs_job WHERE starts_with(display_name, %s) ORDER BY requested_at DESC LIMIT 1"
        waiting.until(lambda: self.ask(question, name) in states, seconds=SECONDS, what=f"{name} is {states}")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The site with a worker and beat, whose jobs run until they are cancelled."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb-faults-", dir="/tmp")))
        (home / "state").mkdir()
        stack.enter_context(postgres.running(home))
        migrated.fill_postgres(home)
        vertex = stack.enter_context(running(home / "vertex", speed=1.0))
        broker = stack.enter_context(redis.running("embedded"))
        told = site_environment(home, broker=broker, TRAINBOARD_VERTEX_ENDPOINT=vertex.url)
        site = Site("new", ROOT, told, home)
        site.vertex = vertex
        site.ask(CLOCK)
        stack.callback(site.close)
        vertex.script("long", queue_seconds=0, provisioning_seconds=0)
        site.start_worker()
        site.start_beat()
        yield site


def test_a_dump_put_back_behind_the_site_doubles_and_cancels_nothing(site: Site, tmp_path: Path) -> None:
    dump = tmp_path / "dump.sql"
    server = ["--host", str(postgres.folder(site.home)), "--username", "postgres"]
    site.vertex.script("quota-fails", match="attempts", queue_seconds=25, provisioning_seconds=1)
    site.request("attempts", "attempts")
    site.request("nightly", "schedule")
    site.wait_for("attempts", *RUNNING)
    moment = site.ask("SELECT date_trunc('minute', clock_timestamp())")
    site.vertex.script("long", match="attempts", queue_seconds=0, provisioning_seconds=0)
    subprocess.run(["pg_dump", *server, "--no-owner", "--file", dump, "trainboard"], check=True)

    def go_on() -> None:
        site.request("by key")
        site.ask("UPDATE jobs_schedule SET next_at = %s", moment)
        for name in ("by key", "nightly"):
            site.wait_for(name, *RUNNING)
        question = "SELECT count(*) FROM jobs_job WHERE display_name = 'attempts' AND remote_name <> ''"
        waiting.until(lambda: site.ask(question) == 2, seconds=SECONDS, what="the further attempt is sent")

    go_on()
    before = site.vertex.truth()["calls"]["customJobs.create"]
    with psycopg.connect(postgres.url(site.home).replace("/trainboard", "/postgres"), autocommit=True) as database:
        database.execute("DROP DATABASE trainboard WITH (FORCE)")
        database.execute("CREATE DATABASE trainboard")
        database.execute("ALTER DATABASE trainboard SET search_path = public, pg_catalog")
    subprocess.run(
        ["psql", *server, "--quiet", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null", "--file", dump, "trainboard"],
        check=True,
    )
    go_on()

    assert site.vertex.truth()["calls"]["customJobs.create"] == before
    lives = {"PENDING", "RUNNING"}  # on a busy machine the last may not have begun to run
    found = site.jobs()
    first, *further = sorted(found.pop("attempts"))
    assert (first, len(further), set(further) <= lives) == ("FAILED", 1, True), found
    assert all(len(states) == 1 and set(states) <= lives for states in found.values()), found


def test_a_stage_that_raises_stops_no_job(site: Site) -> None:
    late = "SELECT failures FROM jobs_upkeep WHERE name = 'sweep:schedules'"
    site.ask("ALTER TABLE jobs_schedule RENAME TO elsewhere")
    try:
        waiting.until(lambda: site.ask(late), seconds=SECONDS, what="the stage fails")
        site.request("beside-a-fault")
        site.wait_for("beside-a-fault", "running")
    finally:
        site.ask("ALTER TABLE elsewhere RENAME TO jobs_schedule")

    waiting.until(lambda: site.ask(late) == 0, seconds=SECONDS, what="the stage works again")


def test_a_locked_team_stops_no_other(site: Site) -> None:
    site.request("of-the-locked", team="locked")
    site.wait_for("of-the-locked", "running")
    with psycopg.connect(postgres.url(site.home)) as other:
        other.execute("SELECT 1 FROM jobs_team WHERE name = 'locked' FOR UPDATE")
        site.request("of-another")
        site.wait_for("of-another", "running")
        site.wait_for_sweep()


def test_after_the_clock_was_a_day_ahead_polls_and_jobs_go_on(site: Site) -> None:
    site.request("through-the-jump")
    site.wait_for("through-the-jump", "running")
    polled = "SELECT answered_at FROM jobs_scope WHERE kind = 'custom_job' AND project = 'vision-research'"
    site.set_clock("1 day")
    day = "SELECT pg_catalog.clock_timestamp() + interval '20 hours'"
    waiting.until(lambda: site.ask(polled) > site.ask(day), seconds=SECONDS, what="a poll by the wrong clock")
    site.set_clock("0")

    site.request("after-the-jump")
    site.wait_for("after-the-jump", "running")
    waiting.until(lambda: site.ask(polled) < site.ask(day), seconds=SECONDS, what="a poll by the right clock")


def test_a_short_403_ends_no_job(site: Site) -> None:
    site.vertex.fault("403", "customJobs.create", times=3, message="Permission denied.")
    site.request("refused-at-first")

    site.wait_for("refused-at-first", "running")
    assert site.jobs()["refused-at-first"] == ["RUNNING"]


def test_a_beat_that_is_behind_the_worker_has_its_sweeps_made(site: Site) -> None:
    site.end(site.processes[-1])
    site.start_beat(behind=20.0)

    site.request("by-a-late-beat")
    site.wait_for("by-a-late-beat", "running")
    site.wait_for_sweep()


def test_a_request_that_waits_outlives_a_site_that_is_down(site: Site) -> None:
    site.request("question", "ask", team="asking")
    # As by a policy that a lead has saved; the one above was written without a version.
    site.ask("UPDATE jobs_approval SET expires_at = clock_timestamp() + interval '7 days' WHERE decision = ''")
    site.wait_for_sweep()
    site.end(*site.processes)
    site.set_clock("30 days")
    try:
        site.start_worker()
        site.start_beat()
        site.wait_for_sweep()
        assert site.ask("SELECT expires_at > clock_timestamp() + interval '1 day' FROM jobs_approval")
        site.wait_for("question", "awaiting_approval")
    finally:
        site.set_clock("0")
