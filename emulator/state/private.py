"""Makes the state folder readable by its owner only: it holds what a team trains on."""

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
UMASK = OTHERS
"""For a process whose files nobody else may read."""


def make_folder(path: Path, *, marks: tuple[str, ...], parts: tuple[str, ...]) -> None:
    """Make a folder, or one of an earlier start, readable by its owner only; the same for `parts` in it and all below.

    marks: files by which we know that a folder which holds something is ours; any other keeps its mode, because others
    may need it. What belongs to another user, and a link, stays as it is.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_ours = not any(path.iterdir()) or any((path / mark).exists() for mark in marks)
    if is_ours and not path.stat().st_mode & stat.S_ISVTX:
        remove_access(path)
    for part in parts:
        if remove_access(path / part):  # only the first time: what lies below may be large
            remove_access_below(path / part)


def make_file(path: Path) -> None:
    """Make a database file, new or there already, readable by its owner only; its journals get its mode from SQLite."""
    path.touch(mode=0o600, exist_ok=True)
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        remove_access(each)


def write_file(path: Path, content: bytes) -> None:
    """Write a file anew that only its owner can read, from its first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def remove_access(path: Path) -> bool:
    """Remove everybody else's access to a file or folder of ours; return whether there was any."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid() or not mode & OTHERS:
        return False
    path.chmod(mode & ~OTHERS)
    return True


def remove_access_below(path: Path) -> None:
    """Remove everybody else's access to everything below a folder."""
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            remove_access(Path(parent) / name)
