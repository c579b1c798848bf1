"""Tests of the simulation of the whole site, in processes of their own with a database of their own."""

import subprocess
import sys

SEEDS = 2


def simulate(*options: str) -> str:
    """Run the command and return what it prints."""
    command = [sys.executable, "-m", "tests.simulation", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_seeds_violate_nothing() -> None:
    assert f"{SEEDS} seeds without a violation" in simulate("--seeds", str(SEEDS), "--processes", "2")


def test_the_same_seed_is_the_same_run() -> None:
    first, second = simulate("--seed", "1"), simulate("--seed", "1")

    assert first == second
    assert "is accepted as job" in first
