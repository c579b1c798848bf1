"""Restrict files to the user who runs the site, because the database holds password hashes."""

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
MARKS = ("secret-key", "trainboard.sqlite3")
"""Files by which one of our state folders is recognized."""
JOURNALS = ("", "-wal", "-shm", "-journal")


def umask() -> None:
    """Restrict the files that this process creates to its user. Call it first in every program of the site."""
    os.umask(OTHERS)


def folder(path: Path) -> None:
    """Create the state folder, or restrict an existing one and the files directly in it to their owner.

    A folder with unrelated files keeps its mode, because others may need it. Files of other users are not changed.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = {each.name for each in path.iterdir()}
    is_ours = not names or not names.isdisjoint(MARKS)
    if is_ours and not path.stat().st_mode & stat.S_ISVTX:
        _tighten(path)
        for name in names:
            _tighten(path / name)


def database(path: Path) -> None:
    """Create an SQLite file, or restrict an existing one and its journals to their owner.

    SQLite gives new journals the mode of their database (sqlite.org, "os_unix.c: findCreateFileMode"). If the folder is
    missing, nothing is created, because the database will report it.
    """
    if not path.parent.is_dir():
        return
    if not path.exists() and os.access(path.parent, os.W_OK):
        path.touch(mode=0o600)
    for end in JOURNALS:
        _tighten(path.with_name(path.name + end))


def _tighten(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISLNK(status.st_mode) and status.st_uid == os.geteuid() and mode & OTHERS:
        path.chmod(mode & ~OTHERS)
