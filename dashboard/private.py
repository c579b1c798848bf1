"""Files of this machine that nobody but the user who runs the site may read: the database holds password hashes."""

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
MARKS = ("secret-key", "trainboard.sqlite3")
"""Files by which a state folder of ours is known."""
JOURNALS = ("", "-wal", "-shm", "-journal")


def umask() -> None:
    """Keep what this process creates from now on to its user. Call it first in every program of the site."""
    os.umask(OTHERS)


def folder(path: Path) -> None:
    """Make the state folder, or take one of an earlier start, and what lies directly in it, from everybody else.

    A folder with other things in it keeps its mode, because others may need it; so does what another user owns.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = {each.name for each in path.iterdir()}
    is_ours = not names or not names.isdisjoint(MARKS)
    if is_ours and not path.stat().st_mode & stat.S_ISVTX:
        _tighten(path)
        for name in names:
            _tighten(path / name)


def database(path: Path) -> None:
    """Make an SQLite file, or take one that is there with its journals, from everybody else.

    SQLite gives new journals the mode of their database (sqlite.org, "os_unix.c: findCreateFileMode"). Where the folder
    is missing, nothing is made: the database will report it.
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
