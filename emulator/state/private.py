"""Keeps the state folder to its owner: jobs, logs, buckets and scratch folders hold what a team trains on."""

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
UMASK = OTHERS
"""For a process whose files nobody else may read."""


def folder(path: Path, *, marks: tuple[str, ...], parts: tuple[str, ...]) -> None:
    """Make a folder, or one of an earlier start, readable by its owner only; the same for `parts` in it and all below.

    marks: files by which we know that a folder which holds something is ours; any other keeps its mode, because others
    may need it. What belongs to another user, and a link, stays as it is.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_ours = not any(path.iterdir()) or any((path / mark).exists() for mark in marks)
    if is_ours and not path.stat().st_mode & stat.S_ISVTX:
        tighten(path)
    for part in parts:
        if tighten(path / part):  # it is loose only once, so that what may be large is walked only once
            tighten_below(path / part)


def file(path: Path) -> None:
    """Make a database file, new or there already, readable by its owner only; its journals get its mode from SQLite."""
    path.touch(mode=0o600, exist_ok=True)
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        tighten(each)


def tighten(path: Path) -> bool:
    """Take a file or folder of ours from everybody else; tell whether there was anything to take."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid() or not mode & OTHERS:
        return False
    path.chmod(mode & ~OTHERS)
    return True


def tighten_below(path: Path) -> None:
    """Take everything below a folder from everybody else."""
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            tighten(Path(parent) / name)
