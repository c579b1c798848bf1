"""Test that a strategy is one module: with a sixth one, form, estimate, job page, board, history and spend know it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_sixth_strategy_is_known_everywhere() -> None:
    """In a process of its own, because choices and SQL are made from the strategies when modules are imported."""
    walk = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    walk += ["-p", "tests.support.sixth_strategy", "tests/pages/walk_sixth_strategy.py"]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TRAINBOARD_"))}

    ended = subprocess.run(
        walk, cwd=ROOT, env=env | {"DATABASE_URL": ""}, capture_output=True, text=True, timeout=240, check=False
    )

    assert ended.returncode == 0, ended.stdout[-4_000:] + ended.stderr[-2_000:]
