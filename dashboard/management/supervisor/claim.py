"""Who runs on a state folder: one `up` at a time, known to other commands by what it wrote there."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

FILE = "up.json"
LEAVING_SECONDS = 20.0
"""How long an `up` may take to stop: twice what its keeper gives the parts of each layer."""


class Claimed(Exception):
    """Another `up` runs on this state folder; `.owner` is what it wrote about itself, perhaps nothing yet."""

    def __init__(self, owner: dict[str, Any]) -> None:
        super().__init__(f"another `up` runs here: {owner}")
        self.owner = owner


class Claim:
    """The hold of this process on a state folder; it ends with the process, however that ends."""

    def __init__(self, file: IO[str], left: dict[str, Any]) -> None:
        """Hold the locked `file`; `left` is what an `up` before us wrote that did not end in order."""
        self.file = file
        self.left = left

    def write(self, **facts: Any) -> None:
        """Replace what others can read about us: pid, address, ..."""
        self.file.seek(0)
        self.file.truncate()
        json.dump({"pid": os.getpid(), **facts}, self.file)
        self.file.flush()


@contextmanager
def claim(state: Path, *, patience: float = 1.0) -> Iterator[Claim]:
    """Hold the state folder while the block runs; raise `Claimed` when another `up` does.

    One that is stopping by its own record is waited for; for any other, `patience` seconds must do.
    """
    state.mkdir(parents=True, exist_ok=True)
    with (state / FILE).open("a+") as file:
        started = time.monotonic()
        while not _lock(file):
            owner = _read(file)
            if time.monotonic() - started > (LEAVING_SECONDS if owner.get("stopping") else patience):
                raise Claimed(owner)
            time.sleep(0.1)
        yield Claim(file, _read(file))
        file.truncate(0)


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def running(state: Path) -> dict[str, Any] | None:
    """Return the record of the `up` on this state folder, or `None` when none runs."""
    try:
        with (state / FILE).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(file)
    except FileNotFoundError:
        return None
    return None


def _read(file: IO[str]) -> dict[str, Any]:
    file.seek(0)
    try:
        facts = json.load(file)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}
