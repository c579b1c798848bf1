"""Ask the tests about all guards in one run: a guard is switched off while a test runs again, without a new process."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.mutants.guards import Guard
from tests.mutants.judges import Judge
from tests.mutants.switched import switch

Noticed = tuple[Guard, str]


def ask_tests(
    guards: Sequence[Guard], judges: Iterable[Judge], copy: Path, tries: int, *, on_postgres: bool
) -> Iterator[Noticed]:
    """Yield the guards that a test of these judges notices, each with the test. Write the switches into the copy.

    Each test runs once as it is, and again for each guard that it reaches and nobody noticed yet. No more than `tries`
    tests, and values of the parameters of each, are asked about a guard. A simulation may notice what they do not.
    """
    numbered = {number: guard for number, guard in enumerate(guards) if guard.kind != "unique constraint"}
    paths = [word for judge in judges for word in judge.arguments if word.startswith("tests/")]
    if not numbered or not paths:
        return
    switch(copy, numbered)
    with tempfile.TemporaryDirectory(prefix="tb-guards-") as name:
        folder = Path(name)
        (folder / "asked").write_text("\n".join(map(str, numbered)))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TRAINBOARD_")}
        environment |= {"DATABASE_URL": "", "PYTHONDONTWRITEBYTECODE": "1", "TRAINBOARD_TEST_GUARDS": str(folder)}
        environment |= {"TRAINBOARD_TEST_GUARDS_TRIES": str(tries), "TRAINBOARD_TEST_GUARDS_VALUES": str(tries)}
        environment |= {"TRAINBOARD_TEST_POSTGRES": "1"} if on_postgres else {}
        options = ("-q", "-p", "tests.mutants.plugin", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *options, *dict.fromkeys(paths)]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"These tests fail although nothing was taken out:\n{done.stdout[-2_000:]}")
        for number, guard in numbered.items():
            if (folder / str(number)).exists():
                yield guard, (folder / str(number)).read_text()


def copy_of(root: Path, folder: Path) -> Path:
    """Copy the repository into a folder, without what a run of tests does not need."""
    left = (".git", ".venv", "var", "dist", ".mypy_cache", ".ruff_cache", ".hypothesis")
    return Path(shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*left), symlinks=True))
