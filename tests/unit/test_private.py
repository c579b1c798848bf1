"""Tests that files of the site are readable only by its user, including those that an earlier version left open."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard import private

ROOT = Path(__file__).parents[2]


def loose(folder: Path) -> list[str]:
    """Return what others may do anything with."""
    return sorted(path.name for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077)


def manage(*command: str, state: Path, **more: str) -> None:
    """Run a command of the site as a shell with a loose umask would."""
    ours = ("TRAINBOARD_", "DJANGO_", "DATABASE_URL", "REDIS_URL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment = {**clean, "TRAINBOARD_STATE": str(state), **more}
    subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, check=True, umask=0o022)


def test_a_new_state_folder_and_its_database_are_private(tmp_path: Path) -> None:
    manage("migrate", "--verbosity", "0", state=tmp_path / "state")

    assert (tmp_path / "state" / "trainboard.sqlite3").stat().st_size > 0
    assert loose(tmp_path / "state") == []


def test_those_of_an_earlier_version_are_put_right(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    for name in ("secret-key", "trainboard.sqlite3", "trainboard.sqlite3-wal", "trainboard.sqlite3-shm", "up.json"):
        (state / name).write_text("x" * 50 if name == "secret-key" else "")
    (state / "emulator").mkdir()
    for path in (state, *state.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert len(loose(state)) == 7

    manage("help", state=state)

    assert loose(state) == []


def test_a_database_elsewhere_is_private_and_its_folder_stays(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    (shared / "board.sqlite3").touch()
    (shared / "board.sqlite3").chmod(0o644)

    manage("help", state=tmp_path / "state", DATABASE_URL=f"sqlite:///{shared}/board.sqlite3")
    manage("help", state=tmp_path / "state", DATABASE_URL=f"sqlite:///{shared}/new.sqlite3")

    assert loose(shared) == ["shared"]


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_folder_with_other_things_in_it_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    (tmp_path / "of somebody else").touch()
    tmp_path.chmod(mode)

    private.folder(tmp_path)

    assert tmp_path.stat().st_mode & 0o7777 == mode


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside, state = tmp_path / "outside", tmp_path / "state"
    outside.touch()
    outside.chmod(0o644)
    state.mkdir()
    (state / "secret-key").symlink_to(outside)

    private.folder(state)

    assert outside.stat().st_mode & 0o777 == 0o644


def test_a_missing_folder_of_a_database_is_not_made(tmp_path: Path) -> None:
    private.database(tmp_path / "missing" / "board.sqlite3")

    assert not (tmp_path / "missing").exists()
