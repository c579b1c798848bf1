"""Lock a state folder, so that one `up` runs on it at a time. Other commands read the record that it writes there."""

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
"""How long an `up` may take to stop: twice the time that its keeper gives the parts of each layer."""


class Claimed(Exception):
    """Another `up` runs on this state folder. `owner` is the record that it wrote, which may be empty."""

    def __init__(self, owner: dict[str, Any]) -> None:
        super().__init__(f"another `up` runs here: {owner}")
        self.owner = owner


class Claim:
    """This process's lock on a state folder. The lock ends with the process in any case."""

    def __init__(self, file: IO[str], left: dict[str, Any]) -> None:
        """Use the locked `file`. `left` is the record of an earlier `up` that did not end in order."""
        self.file = file
        self.left = left

    def write(self, **facts: Any) -> None:
        """Replace our record: the pid, the address and other facts."""
        self.file.seek(0)
        self.file.truncate()
        json.dump({"pid": os.getpid(), **facts}, self.file)
        self.file.flush()


@contextmanager
def claim(state: Path, *, patience: float = 1.0) -> Iterator[Claim]:
    """Lock the state folder for the block. Raise `Claimed` if another `up` has locked it.

    Wait for one that is stopping according to its record. Wait `patience` seconds for any other.
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
    """Return the record of the `up` on this state folder, or `None` if none runs."""
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
