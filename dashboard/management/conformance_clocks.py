"""The clocks of `manage.py conformance`: this machine's, or that of a scripted emulator, which its runs move."""

import json
import threading
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dashboard.rehearsal import is_loopback
from jobs import conformance

SCRIPT_RULE = {"match": f"labels.{conformance.LABEL}:*", "script": "command"}
"""Under it, scripted jobs sleep and exit as their shell programs would."""


class MachineClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait. Ctrl-C ends it at once."""
        threading.Event().wait(seconds)


class EmulatorClock:
    """The clock of a scripted emulator. Nothing else may move it meanwhile."""

    def __init__(self, control: "Control", now: str) -> None:
        self._control, self._now = control, datetime.fromisoformat(now)

    def now(self) -> datetime:
        """Return the time to which the clock was last moved."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        until = self._now + timedelta(seconds=seconds)
        self._now = datetime.fromisoformat(self._control.call("POST", "clock", {"now": until.timestamp()})["now"])


class Control:
    """The control plane of an emulator on this machine."""

    def __init__(self, endpoint: str, token_file: str) -> None:
        self._endpoint, self._token_file = endpoint.rstrip("/"), token_file

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """Call it. Raise OSError if it does not answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._endpoint}/_emulator/{path}", data=data, method=verb)  # noqa: S310
        request.add_header("Content-Type", "application/json")
        if self._token_file and Path(self._token_file).exists():
            request.add_header("Authorization", f"Bearer {Path(self._token_file).read_text().strip()}")
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - an emulator on this machine
            return json.loads(answer.read())


def clock_of(endpoint: str, token_file: str) -> tuple[conformance.Clock, dict[str, Any]]:
    """Return the clock for an endpoint, and what the recording service_lines about the service.

    A scripted emulator gets the rule that its jobs follow their programs.
    """
    parts = urlsplit(endpoint)
    if parts.scheme != "http" or not is_loopback(parts.hostname or ""):
        return MachineClock(), {"service": "vertex_ai", "speed": 1}
    control = Control(endpoint, token_file)
    try:
        health = control.call("GET", "health")
    except (OSError, ValueError, urllib.error.HTTPError):
        return MachineClock(), {"service": "unknown", "speed": 1}
    about = {"service": "emulator", "speed": health["speed"]}
    if not health["scripted"]:
        return MachineClock(), about
    control.call("POST", "script", SCRIPT_RULE)
    return EmulatorClock(control, health["now"]), about | {"speed": 1}
