"""Store the address and token of a site, and the keys of unfinished submissions, between commands."""

import contextlib
import json
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from trainboard_cli.errors import TrainboardError

MAX_AGE_SECONDS = 7 * 24 * 3600
"""A submission that was cut off longer ago is not continued."""


def load_sign_in() -> tuple[str, str]:
    """Return (address, token) from TRAINBOARD_URL and TRAINBOARD_TOKEN, or else from `trainboard login`."""
    url, token = os.environ.get("TRAINBOARD_URL", ""), os.environ.get("TRAINBOARD_TOKEN", "")
    kept = {} if url and token else _read(_credentials())
    url, token = url or kept.get("url", ""), token or (kept.get("token", "") if url in {"", kept.get("url")} else "")
    if not url or not token:
        raise TrainboardError("Sign in with `trainboard login`, or set TRAINBOARD_URL and TRAINBOARD_TOKEN.")
    return url, token


def save_sign_in(url: str, token: str) -> Path:
    """Store an address and a token in a file that only this user can read. Return its path."""
    path = _credentials()
    _write(path, {"url": url, "token": token})
    return path


class Submission:
    """The idempotency key of one submission, stored until its outcome was shown.

    `content` identifies the submission: the site, the files and the options. When a command that was cut off is
    repeated, it finds the same key and therefore the same job. `done` deletes the key, so that the next command
    requests a new job.
    """

    def __init__(self, content: dict[str, Any], *, given: str = "", is_new: bool = False) -> None:
        fingerprint = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        self.path = _folder("XDG_STATE_HOME", ".local/state") / "submissions" / f"{fingerprint[:40]}.json"
        self.is_given = bool(given)
        self.key = given or self._kept(is_new=is_new)

    def done(self) -> None:
        """Delete the key."""
        if not self.is_given:
            self.path.unlink(missing_ok=True)

    def _kept(self, *, is_new: bool) -> str:
        """Return the key that an earlier command stored, or store a new one.

        Of two concurrent commands the first one wins.
        """
        with contextlib.suppress(OSError):
            if is_new or time.time() - self.path.stat().st_mtime > MAX_AGE_SECONDS:
                self.path.unlink()
        made = self.path.with_suffix(f".{uuid4().hex}")
        _write(made, {"key": uuid4().hex})
        with contextlib.suppress(FileExistsError):
            os.link(made, self.path)
        made.unlink()
        key = str(_read(self.path).get("key", ""))
        if not key:
            raise TrainboardError(f"Cannot read {self.path}. Delete it.")
        return key


def _credentials() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config") / "credentials.json"


def _folder(variable: str, otherwise: str) -> Path:
    given = os.environ.get(variable, "")
    return (Path(given) if given else Path.home() / otherwise) / "trainboard"


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise TrainboardError(f"Cannot read {path}: {problem}.") from None
    return found if isinstance(found, dict) else {}


def _write(path: Path, content: dict[str, str]) -> None:
    """Write a file atomically. Only this user can read it, also while it is written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_name(f"{path.name}.{uuid4().hex}")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(content, file)
        part.replace(path)
    except OSError as problem:
        raise TrainboardError(f"Cannot write {path}: {problem.strerror}.") from None
