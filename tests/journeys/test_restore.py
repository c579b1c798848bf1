"""Rehearsals of `manage.py restore`: dumps of older versions, damage, interruption, and people in the way."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from jobs.clients import INSTANCE_LABEL, JOB_LABEL
from tests.support import migrated, postgres, samples, waiting
from tests.support.environments import ROOT, environment
from tests.support.running_emulator import Running, running
from tests.support.upgrade import Version, extract, site_environment

pytestmark = pytest.mark.stack

AT_0050 = """
import django; django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from tests.support import migrated
executor = MigrationExecutor(connection)
executor.loader = migrated.history(connection)
leaves = [node for node in executor.loader.graph.leaf_nodes() if node[0] != "jobs"]
executor.migrate([*leaves, ("jobs", "0050_chosen_projects")])
models = executor.loader.project_state([*leaves, ("jobs", "0050_chosen_projects")]).apps
now = timezone.now()
user = models.get_model("auth", "User").objects.create(username="owner")
team = models.get_model("jobs", "Team").objects.create(name="vision", project="vision-research")
models.get_model("jobs", "Policy").objects.create(team=team, ask_over_usd=25)
models.get_model("jobs", "Membership").objects.create(team=team, user=user, role="engineer")
models.get_model("jobs", "Installation").objects.create(pk=1, instance="trainboard", trusted_since=now, identity="old")
for state, name in [("approved", "unsent"), ("running", "followed"), ("succeeded", "ended")]:
    remote = "" if state == "approved" else f"projects/1/locations/us-central1/customJobs/{len(name)}"
    job = models.get_model("jobs", "Job").objects.create(
        team=team, owner=user, display_name=name, project=team.project, region="us-central1", strategy="spot", spec={},
        request_key=name, expected_seconds=60, state=state, state_since=now, requested_at=now, remote_name=remote,
        due_at=now if state == "approved" else None, ended_at=now if state == "succeeded" else None)
    models.get_model("jobs", "JobEvent").objects.create(
        job=job, kind="state", to_state=state, occurred_at=now, recorded_at=now, message="x", once_key="state")
    if name == "unsent":
        print(job.pk)
"""
STATES = "SELECT display_name, state FROM jobs_job ORDER BY display_name"
OLD_ROWS = [("ended", "succeeded"), ("followed", "running"), ("unsent", "approved")]
DATABASES = "SELECT datname FROM pg_database WHERE datname LIKE 'trainboard%' ORDER BY datname"


class Site(Version):
    """The present version with its own server, and the emulator as its Vertex AI."""

    def restore(self, backup: Path, *options: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Run the command to its end."""
        command = [sys.executable, "manage.py", "restore", str(backup), *options]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment | more, capture_output=True, text=True, check=False
        )

    def query(self, question: str, database: str = "trainboard") -> list[Any]:
        with psycopg.connect(postgres.url(self.home).replace("/trainboard", f"/{database}")) as connection:
            return connection.execute(question).fetchall()

    def create(self, database: str) -> None:
        with psycopg.connect(postgres.url(self.home).replace("/trainboard", "/postgres"), autocommit=True) as server:
            server.execute(f"CREATE DATABASE {database}")

    def dump(self, database: str, form: str) -> Path:
        """Return a dump of a database, as docs/operations.md makes it."""
        made = self.home / f"{database}.{form}"
        server = ["--host", str(postgres.folder(self.home)), "--username", "postgres"]
        subprocess.run(
            ["pg_dump", *server, "--no-owner", "--no-privileges", "--format", form, "--file", made, database],
            check=True,
        )
        return made


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("vertex"), scripted=True) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def site(emulator: Running) -> Iterator[Site]:
    """A server whose database `trainboard` has every migration, and the team `present`."""
    with tempfile.TemporaryDirectory(prefix="tb-restore-", dir="/tmp") as folder:
        home = Path(folder)
        (home / "state").mkdir()
        with postgres.running(home):
            migrated.fill_postgres(home)
            told = site_environment(home, broker="redis://127.0.0.1:9/0", TRAINBOARD_VERTEX_ENDPOINT=emulator.url)
            site = Site("new", ROOT, told, home)
            with psycopg.connect(postgres.url(home)) as database:
                database.execute("INSERT INTO auth_group (name) VALUES ('present')")
            yield site


@pytest.fixture(scope="module")
def unsent(site: Site) -> str:
    """Fill the database `older` at migration 0050. Return the id of its request that was not sent."""
    site.create("older")
    environment = site.environment | {"DATABASE_URL": postgres.url(site.home).replace("/trainboard", "/older")}
    return Version("0050", ROOT, environment, site.home).run("-c", AT_0050).strip()


@pytest.fixture(scope="module")
def older(site: Site, unsent: str) -> Path:
    """A dump at migration 0050, in the custom format."""
    return site.dump("older", "custom")


@pytest.fixture(scope="module")
def before(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump of the commit before this one, with two requests, in plain format."""
    site.create("earlier")
    environment = site.environment | {"DATABASE_URL": postgres.url(site.home).replace("/trainboard", "/earlier")}
    version = Version("before", extract("HEAD~1", tmp_path_factory.mktemp("before")), environment, site.home)
    version.run("manage.py", "migrate", "--verbosity", "0")
    version.request("earlier", 2)
    with psycopg.connect(environment["DATABASE_URL"]) as database:
        columns = "(id, instance, trusted_since, restored_reason)"
        database.execute(f"INSERT INTO jobs_installation {columns} VALUES (1, 'trainboard', now(), '')")
    return site.dump("earlier", "plain")


def is_present(site: Site) -> bool:
    """Return whether the database in use is the one from before, and no other one is left."""
    return site.query("SELECT name FROM auth_group") == [("present",)] and site.query(DATABASES) == [("trainboard",)]


def label(emulator: Running, job_id: str, name: str) -> str:
    """Let Vertex AI have a job that this instance has sent. Return its number."""
    body = samples.body(name=name, labels={JOB_LABEL: job_id, INSTANCE_LABEL: "trainboard"})
    made = emulator.call("POST", "/v1/projects/vision-research/locations/us-central1/customJobs", body)
    return str(made["name"].rpartition("/")[2])


class TestRefusals:
    """None of them changes the database in use, or leaves another one."""

    def test_a_dump_of_a_newer_version(self, site: Site, older: Path) -> None:
        site.create("newer")
        with psycopg.connect(postgres.url(site.home).replace("/trainboard", "/newer")) as database:
            database.execute("CREATE TABLE django_migrations (app text, name text)")
            names = [("jobs", "0001_initial"), ("jobs", "9999_of_tomorrow")]
            database.cursor().executemany("INSERT INTO django_migrations VALUES (%s, %s)", names)

        done = site.restore(site.dump("newer", "custom"))

        assert done.returncode == 1
        assert "made by a newer version, which has the migrations jobs.9999_of_tomorrow" in done.stderr
        assert is_present(site)

    def test_a_file_that_is_no_dump(self, site: Site, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"SQLite format 3\0")

        done = site.restore(tmp_path / "file")

        assert (done.returncode, is_present(site)) == (1, True)
        assert "is not a dump of one database" in done.stderr

    def test_dumps_that_are_cut_off(self, site: Site, older: Path, before: Path, tmp_path: Path) -> None:
        for whole, words in [(older, "pg_restore failed"), (before, "is cut off")]:
            (tmp_path / "cut").write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])

            done = site.restore(tmp_path / "cut")

            assert (done.returncode, is_present(site)) == (1, True)
            assert words in done.stderr

    def test_while_somebody_uses_the_database(self, site: Site, older: Path) -> None:
        with psycopg.connect(postgres.url(site.home)):
            done = site.restore(older)

        assert done.returncode == 1
        assert "1 session uses the database trainboard" in done.stderr
        assert is_present(site)

    def test_when_vertex_ai_does_not_answer(self, site: Site, before: Path) -> None:
        done = site.restore(before, TRAINBOARD_VERTEX_ENDPOINT="http://127.0.0.1:9")

        assert done.returncode == 1
        assert "Vertex AI did not answer 3 look-ups" in done.stderr
        assert is_present(site)

    def test_a_dump_of_another_instance(self, site: Site, before: Path) -> None:
        done = site.restore(before, TRAINBOARD_INSTANCE="staging")

        assert done.returncode == 1
        assert "belongs to the instance “trainboard”" in done.stderr
        assert is_present(site)


@pytest.mark.parametrize("point", ["pg_restore", "restored"])
def test_a_command_that_is_killed_leaves_the_database_in_use(site: Site, older: Path, point: str) -> None:
    command = [sys.executable, "manage.py", "restore", str(older)]
    process = subprocess.Popen(command, cwd=ROOT, env=site.environment, start_new_session=True)
    waiting.until(lambda: _is_at(process.pid, point), seconds=60, what=f"{point} runs", every=0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    assert site.query("SELECT name FROM auth_group") == [("present",)]
    for (name,) in site.query(DATABASES):
        if name != "trainboard":
            with psycopg.connect(postgres.url(site.home), autocommit=True) as database:
                database.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _is_at(pid: int, word: str) -> bool:
    """Return whether a child of the process runs a program with this word among its arguments."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getpgid(int(entry.name)) == pid and int(entry.name) != pid:
                return word in (entry / "cmdline").read_text()
        except (ProcessLookupError, FileNotFoundError):
            continue
    return False


def test_a_dump_at_migration_0050(site: Site, emulator: Running, unsent: str, older: Path, tmp_path: Path) -> None:
    sent, lost = label(emulator, unsent, "unsent"), label(emulator, "00000000-0000-4000-8000-000000000001", "lost")
    shims, arguments = tmp_path / "bin", tmp_path / "arguments"
    shims.mkdir()
    real = f"{postgres.programs()}:{os.environ['PATH']}"
    (shims / "pg_restore").write_text(f'#!/bin/sh\necho "$@" >> {arguments}\nPATH={real} exec pg_restore "$@"\n')
    (shims / "pg_restore").chmod(0o755)
    url = site.environment["DATABASE_URL"].replace("postgres@", "postgres:open-sesame@")

    done = site.restore(older, DATABASE_URL=url, PATH=f"{shims}:{os.environ['PATH']}")

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Request unsent of vision ({unsent}): was sent as {sent} (JOB_STATE_" in done.stdout
    assert "2 active, 1 of them unknown to this database" in done.stdout
    assert f"{lost} lost (JOB_STATE_" in done.stdout
    assert "open-sesame" not in done.stdout + done.stderr + arguments.read_text()
    assert site.query(STATES) == OLD_ROWS
    assert site.query("SELECT display_name FROM jobs_job WHERE attempted_at IS NOT NULL") == [("unsent",)]
    assert site.query("SELECT display_name FROM jobs_unmatchedjob") == [("lost",)]
    site.run("manage.py", "migrate", "--check")
    ((kept,),) = site.query(f"{DATABASES} OFFSET 1")
    assert kept.startswith("trainboard_before_")
    assert site.query("SELECT name FROM auth_group", kept) == [("present",)]


def test_a_dump_of_the_commit_before(site: Site, before: Path) -> None:
    """The account may create databases, but not rename the one in use."""
    with psycopg.connect(postgres.url(site.home), autocommit=True) as database:
        database.execute("CREATE ROLE another LOGIN CREATEDB")
    url = postgres.url(site.home).replace("postgres@", "another:open-sesame@")

    done = site.restore(before, DATABASE_URL=url)

    assert done.returncode == 1
    assert "The databases were not renamed: must be owner" in done.stderr
    shown = done.stderr.rpartition("DATABASE_URL=")[2].split()[0]
    assert "another:PASSWORD@" in shown
    restored = shown.rpartition("/")[2]
    assert [name for name, _ in site.query(STATES, restored)] == ["earlier-0", "earlier-1"]
    assert site.query("SELECT count(*) FROM jobs_job WHERE attempted_at IS NULL", restored) == [(0,)]
    assert "open-sesame" not in done.stdout + done.stderr


class TestSqlite:
    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        """A backup of a database, to which something was added since."""
        present, copy = tmp_path / "var" / "trainboard.sqlite3", tmp_path / "copy.sqlite3"
        migrated.copy_sqlite(present)
        with closing(sqlite3.connect(present)) as database, closing(sqlite3.connect(copy)) as target:
            database.backup(target)
            database.execute("INSERT INTO auth_group (name) VALUES ('since')")
            database.commit()
        return copy

    def restore(self, copy: Path, emulator: Running) -> "subprocess.CompletedProcess[str]":
        told = environment(copy.parent / "var", 0, TRAINBOARD_VERTEX_ENDPOINT=emulator.url)
        command = [sys.executable, "manage.py", "restore", str(copy)]
        return subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)

    @staticmethod
    def groups(path: Path) -> list[Any]:
        with closing(sqlite3.connect(path)) as database:
            return database.execute("SELECT name FROM auth_group").fetchall()

    def test_a_copy_takes_the_place_of_the_database(self, copy: Path, emulator: Running) -> None:
        done = self.restore(copy, emulator)

        assert done.returncode == 0, done.stderr
        (kept, present) = sorted((copy.parent / "var").glob("trainboard.sqlite3*"), key=lambda path: -len(path.name))
        assert self.groups(kept) == [("since",)]
        assert self.groups(present) == []
        with closing(sqlite3.connect(present)) as database:
            assert database.execute("SELECT restored_reason <> '' FROM jobs_installation").fetchone() == (1,)

    def test_nothing_changes_while_a_process_uses_the_database_or_for_a_damaged_copy(
        self, copy: Path, emulator: Running
    ) -> None:
        present = copy.parent / "var" / "trainboard.sqlite3"
        with closing(sqlite3.connect(present)) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("SELECT * FROM auth_group").fetchall()
            busy = self.restore(copy, emulator)
        content = copy.read_bytes()
        copy.write_bytes(content[:8192] + os.urandom(len(content) // 2))
        damaged = self.restore(copy, emulator)

        assert (busy.returncode, damaged.returncode) == (1, 1)
        assert "A process uses" in busy.stderr
        assert "copy.sqlite3" in damaged.stderr
        assert self.groups(present) == [("since",)]
        assert [path.name for path in present.parent.glob("*restored*")] == []
