"""Tests of the simulation of the whole site, in processes of their own with a database of their own."""

import os
import subprocess
import sys

SEEDS = 2
FIRST_WITH_RESTORE, RESTORED_SEEDS = 2, 3
"""Each of these seeds restores a backup, in three different cases."""


def simulate(*options: str, on_postgres: bool = False) -> str:
    """Run the command and return what it prints. It starts a PostgreSQL server of its own if it is to use one."""
    command = [sys.executable, "-m", "tests.simulation", *options]
    environment = dict(os.environ)
    if on_postgres:
        environment = {name: value for name, value in environment.items() if not name.startswith("TRAINBOARD_")}
        environment |= {"DATABASE_URL": "", "TRAINBOARD_TEST_POSTGRES": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout


def test_seeds_violate_nothing() -> None:
    assert f"{SEEDS} seeds without a violation" in simulate("--seeds", str(SEEDS), "--processes", "2")


def test_seeds_with_restores_violate_nothing_on_postgresql() -> None:
    options = ("--first", str(FIRST_WITH_RESTORE), "--seeds", str(RESTORED_SEEDS), "--processes", "2")

    assert f"{RESTORED_SEEDS} seeds without a violation" in simulate(*options, on_postgres=True)


def test_the_same_seed_is_the_same_run() -> None:
    first, second = simulate("--seed", "1"), simulate("--seed", "1")

    assert first == second
    assert "is accepted as job" in first
