"""Tests of an upgrade during operation: workers of the previous version run beside the new ones."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.support import postgres, redis, waiting
from tests.support.upgrade import ROOT, Emulator, Version, extract, site_environment

pytestmark = pytest.mark.stack

VERSION_BEFORE = "d3be3f8"
"""The last commit before the newest migrations. When there are newer ones, put the parent of the first of them here:
`git log --format=%h -- jobs/migrations` lists the commits that added some."""
COUNT = 6
"""Jobs that are requested at a time."""
UNENDED = "SELECT count(*) FROM jobs_job WHERE ended_at IS NULL"
DONE = re.compile(r"Task jobs\.tasks\.(\w+)\[\S+\] succeeded")
ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\d \d\d:)", re.MULTILINE)
PASSING = "lock timeout"
"""While the tables are migrated, a worker of the version before may wait too long for a row. Its next sweep goes on."""
BAD = re.compile(r"Traceback \(most recent call last\)|\b(?:ERROR|CRITICAL)\b.*")


@pytest.fixture
def versions(tmp_path: Path) -> Iterator[tuple[Version, Version]]:
    """The version before and this one; each has its own parts."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb-upgrade-", dir="/tmp")))
        (home / "state").mkdir()
        stack.enter_context(postgres.running(home))
        broker = stack.enter_context(redis.running("embedded"))
        told = site_environment(home, broker=broker)
        new = Version("new", ROOT, told, home)
        old = Version("old", extract(VERSION_BEFORE, tmp_path / "before"), told, home)
        for each in (new, old):
            stack.callback(each.close)
        yield old, new


def count(version: Version, question: str) -> int:
    with psycopg.connect(postgres.url(version.home)) as database:
        (found,) = database.execute(question).fetchone() or (0,)
    return int(found)


def test_both_versions_take_jobs_to_their_end(versions: tuple[Version, Version]) -> None:
    old, new = versions
    old.run("manage.py", "migrate", "--verbosity", "0")
    # The version before takes the provisional start of a waiting job for a run, as it is recorded of Vertex AI;
    # tests/domain/test_start_repair.py is about the rows that it leaves then.
    emulator = Emulator(old, new.home / "emulator")
    for each in versions:
        each.environment["TRAINBOARD_VERTEX_ENDPOINT"] = emulator.url
    workers = {"old": old.start_worker()}
    old.start("beat", "-m", "celery", "-A", "dashboard.celery", "beat", "--pidfile=", "--loglevel", "WARNING")
    old.request("before", COUNT)

    new.run("manage.py", "migrate", "--verbosity", "0")
    workers["new"] = new.start_worker()
    new.request("together", COUNT)
    old.request("also-together", COUNT)
    await_ends(versions)
    assert [worker.poll() for worker in workers.values()] == [None, None]
    for each, other in (versions, versions[::-1]):  # whichever took a job so far, now each takes some alone
        end(workers[other.name])
        each.request(f"{each.name}-alone", COUNT)
        await_ends(versions)
        workers[other.name] = other.start_worker()

    assert dict(states_of(new)) == {"succeeded": 5 * COUNT}
    assert len(emulator.control("truth")["jobs"]) == 5 * COUNT, "each was sent once"
    for each in versions:
        assert set(DONE.findall(each.log("worker"))) >= {"advance", "observe", "sweep"}, f"{each.name} did its part"
        bad = [entry for entry in ENTRY.split(each.log("worker")) if BAD.search(entry) and PASSING not in entry]
        assert bad == [], f"{each.name}: {bad[0]}"
    # The version before does not know the events with which this one corrects a start.
    assert "All rows keep their invariants." in new.run("manage.py", "audit")


def end(worker: "subprocess.Popen[bytes]") -> None:
    """Let it finish what it does, as a supervisor that replaces it."""
    worker.terminate()
    assert worker.wait(timeout=30) == 0


def await_ends(versions: tuple[Version, Version]) -> None:
    try:
        waiting.until(lambda: count(versions[0], UNENDED) == 0, seconds=120, every=0.5, what="all have ended")
    except AssertionError:
        logs = [f"{each.name}:\n{each.log('worker')[-3000:]}" for each in versions]
        raise AssertionError("\n".join([f"not all have ended: {states_of(versions[0])}", *logs])) from None


def states_of(version: Version) -> list[tuple[str, int]]:
    with psycopg.connect(postgres.url(version.home)) as database:
        return database.execute("SELECT state, count(*) FROM jobs_job GROUP BY state").fetchall()


def test_a_commit_that_is_not_there_fails_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="fetch the whole history"):
        extract("0123456789", tmp_path)
