"""Tests that the commands of docs/operations.md work: they are read out of the page and executed.

No container engine is needed: a program named `docker` runs what a container would run, with the test's own server.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.support import migrated, postgres
from tests.support.environments import ROOT, environment

pytestmark = pytest.mark.stack

DOCKER = """#!/bin/sh
# Called as `docker compose COMMAND ...` for the services of compose.yaml.
set -eu
echo "$*" >> docker.log
shift
case "$1" in
  build | stop | start | up) ;;
  exec) shift 3; exec "$@" ;;
  run)
    shift
    while [ "${1#--}" != "$1" ]; do
      [ "$1" = --volume ] && shift
      shift
    done
    service=$1; shift
    [ "$service" = migrate ] && set -- migrate
    for word; do shift; set -- "$@" "$(echo "$word" | sed "s#^/backup#$PWD#")"; done
    if [ "$1" = doctor ]; then set -- doctor --help; fi  # there is no Google Cloud to examine
    exec sh ROOT/deploy/start.sh "$@" ;;
  *) echo "unknown: $*" >&2; exit 2 ;;
esac
"""


def commands(section: str) -> list[str]:
    """Return the blocks of commands of a section."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", (ROOT / "docs/operations.md").read_text(), re.M | re.S)
    return [block.replace("-DATE.", "-$(date +%F).") for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder with `docker` and a server that a container of the site would reach."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb-operations-", dir="/tmp")))
        stack.enter_context(postgres.running(home))
        migrated.fill_postgres(home)
        with psycopg.connect(postgres.url(home), autocommit=True) as database:
            database.execute("CREATE ROLE trainboard LOGIN SUPERUSER")
        docker = tmp_path / "bin" / "docker"
        docker.parent.mkdir()
        docker.write_text(DOCKER.replace("ROOT", str(ROOT)))
        docker.chmod(0o755)
        yield home


def run(home: Path, block: str, tools: Path, **more: str) -> str:
    told = environment(home / "state", 0, **more)
    path = f"{tools}:{Path(sys.executable).parent}:{postgres.programs()}:{os.environ['PATH']}"
    shell = ["bash", "-euo", "pipefail", "-c", block]
    done = subprocess.run(shell, cwd=home, env=told | {"PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, block + done.stdout + done.stderr
    return done.stdout


def test_back_up_restore_and_upgrade(home: Path, tmp_path: Path) -> None:
    url = postgres.url(home).replace("postgres@", "trainboard@")
    told = {"DATABASE_URL": url, "PGHOST": str(postgres.folder(home)), "TRAINBOARD_SECRET_KEY": "x" * 50}
    back_up, _sqlite = commands("Backup")
    restore, _sqlite, convert = commands("Restore")
    (upgrade,) = commands("Upgrade")
    tools = tmp_path / "bin"
    archive = back_up.replace("pg_dump", "pg_dump --format custom").replace(".sql", ".dump")

    run(home, back_up, tools, **told)
    run(home, archive, tools, **told)
    run(home, convert, tools, **told)
    with psycopg.connect(url) as database:
        database.execute("INSERT INTO auth_group (name) VALUES ('since')")
    shown = run(home, restore, tools, **told)
    run(home, upgrade, tools, **told)

    assert "trainboard is the restored database." in shown
    assert "All rows keep their invariants." in shown
    with psycopg.connect(url) as database:
        assert database.execute("SELECT * FROM auth_group").fetchall() == []
    log = (home / "docker.log").read_text()
    assert log.index("compose stop web") < log.index(" restore /backup/") < log.index("compose start web")


def test_with_sqlite(tmp_path: Path) -> None:
    (_, back_up), (_, restore, _) = commands("Backup"), commands("Restore")
    migrated.copy_sqlite(tmp_path / "var" / "trainboard.sqlite3")
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    told = environment(tmp_path / "var", 0)

    for block in (back_up, restore):
        subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, env=told, check=True)

    assert len(list((tmp_path / "var").glob("trainboard.sqlite3.before_*"))) == 1
