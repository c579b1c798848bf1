"""Databases with every migration applied, which tests and sites under test copy at their start.

Applying the migrations takes about eight seconds of CPU time. The result is stored in `.pytest_cache` under a digest of
all migrations. A site that starts with a copy still runs `migrate`, which then finds nothing to do.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.db.migrations.loader import MigrationLoader

from tests.support import postgres
from tests.support.environments import ROOT, environment

FOLDER = ROOT / ".pytest_cache" / "migrated"
DATABASE = "trainboard.sqlite3"
"""Name of a site's database in its state folder without DATABASE_URL."""


def copy_sqlite(target: Path) -> None:
    """Write a migrated SQLite database to `target`, readable only by its owner."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(_kept("sqlite3", _make_sqlite), target)
    target.chmod(0o600)


def fill_postgres(state: Path) -> None:
    """Write a migrated database into the empty `trainboard` of the server running in `state`."""
    dump = _kept("sql", _make_dump)
    quiet = ("-q", "-X", "-o", os.devnull, "-v", "ON_ERROR_STOP=1", "-f", dump)
    subprocess.run([*_client("psql", state), *quiet, "trainboard"], check=True)


def history(connection: Any = None) -> MigrationLoader:
    """Return all migrations one after the other, as an upgraded database runs them. A new one runs a squashed one.

    With a connection it knows which of them are applied.
    """
    loader = MigrationLoader(connection, ignore_no_migrations=True, replace_migrations=False)
    for name, migration in loader.replacements.items():
        loader.graph.remove_replacement_node(name, migration.replaces)
    return loader


# ---------------------------------------------------------------- making and keeping them
def _kept(kind: str, make: Callable[[Path, Path], None]) -> Path:
    """Return the stored database of a kind. If it is missing, call `make` in a folder to create it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = FOLDER / f"{_digest()}.{kind}"
    with (FOLDER / "lock").open("w") as lock:  # workers of pytest-xdist run this at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for old in FOLDER.glob(f"*.{kind}"):
                old.unlink()
            with tempfile.TemporaryDirectory(prefix="tb-migrated-", dir="/tmp") as state:
                unfinished = kept.with_suffix(".new")
                make(Path(state), unfinished)
                unfinished.replace(kept)
    return kept


@cache
def _digest() -> str:
    """Return a digest of Django's version, the migrations of every app, and jobs/database.py."""
    if not apps.ready:
        django.setup()
    digest = hashlib.sha256(django.__version__.encode())
    migrations = [path for app in apps.get_app_configs() for path in sorted(Path(app.path, "migrations").glob("*.py"))]
    for path in (*migrations, ROOT / "jobs" / "database.py"):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _make_sqlite(state: Path, to: Path) -> None:
    _migrate(state)
    shutil.copyfile(state / DATABASE, to)


def _make_dump(state: Path, to: Path) -> None:
    with postgres.running(state):
        _migrate(state, DATABASE_URL=postgres.url(state))
        subprocess.run([*_client("pg_dump", state), "--no-owner", "-f", to, "trainboard"], check=True)


def _migrate(state: Path, **more: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT, env=environment(state, 0, **more), check=True,
    )  # fmt: skip


def _client(program: str, state: Path) -> list[str | Path]:
    return [postgres.programs() / program, "-h", postgres.folder(state), "-U", "postgres"]
