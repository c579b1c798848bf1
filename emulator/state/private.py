"""Make the state folder readable by its owner only, because it holds the data that a team trains on."""

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO
UMASK = OTHERS
"""The umask for a process whose files nobody else may read."""


def make_folder(path: Path, *, marks: tuple[str, ...], parts: tuple[str, ...]) -> None:
    """Create a folder, or use an existing one, and restrict it, `parts` in it and everything below them to its owner.

    `marks` are files by which a folder with content is recognized as ours. Any other folder keeps its mode, because
    others may need it. Links and files of other users are not changed.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_ours = not any(path.iterdir()) or any((path / mark).exists() for mark in marks)
    if is_ours and not path.stat().st_mode & stat.S_ISVTX:
        remove_access(path)
    for part in parts:
        if remove_access(path / part):  # only the first time, because its content may be large
            remove_access_below(path / part)


def make_file(path: Path) -> None:
    """Create a database file, or use an existing one, and restrict it to its owner.

    SQLite gives journals the same mode.
    """
    path.touch(mode=0o600, exist_ok=True)
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        remove_access(each)


def write_file(path: Path, content: bytes) -> None:
    """Replace a file by one that only its owner can read, also while it is written."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def remove_access(path: Path) -> bool:
    """Remove the access of others to a file or folder of ours. Return whether there was any."""
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
    """Remove the access of others to everything below a folder."""
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            remove_access(Path(parent) / name)
