"""From a replica's output to log lines: JSON objects become structured entries, the rest is text."""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

from emulator.protocol import timestamps
from emulator.state.logs import BYTES_PER_ENTRY, SEVERITIES, Line

TAIL_LINES, TAIL_CHARS = 40, 2_000
TRACEBACK = "Traceback (most recent call last):"
SEVERITY_OF_STREAM = {"stdout": "INFO", "stderr": "ERROR"}


class Splitter:
    """Cuts a byte stream into lines; one longer than an entry may be is cut in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """Take bytes, give the lines that are complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > BYTES_PER_ENTRY:
            lines.append(self._rest[:BYTES_PER_ENTRY])
            self._rest = self._rest[BYTES_PER_ENTRY:]
        for line in lines:
            for start in range(0, max(len(line), 1), BYTES_PER_ENTRY):
                yield line[start : start + BYTES_PER_ENTRY].decode(errors="replace").rstrip("\r")

    def end(self) -> Iterator[str]:
        """Give what stands without an end of line."""
        if self._rest:
            yield self._rest.decode(errors="replace")
        self._rest = b""


class Tail:
    """Remembers the end of what a replica said on stderr, for the error message."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)

    def add(self, line: str) -> None:
        """Take a line."""
        self._lines.append(line[:TAIL_CHARS])

    def text(self) -> str:
        """Return the last traceback if there is one, else the last lines."""
        lines = list(self._lines)
        starts = [number for number, line in enumerate(lines) if line.startswith(TRACEBACK)]
        kept = lines[starts[-1] :] if starts else lines[-10:]
        return "\n".join(kept)[-TAIL_CHARS:]


def line(text: str, *, stream: str, task: str, now: float) -> Line:
    """Return the log line for one line of output. severity, time and timestamp of a JSON object are lifted out."""
    severity = SEVERITY_OF_STREAM[stream]
    structured = _object(text)
    if structured is None:
        return Line(now, task, severity, {"textPayload": text})
    named = str(structured.get("severity", "")).upper()
    if named in SEVERITIES:
        severity = named
        structured.pop("severity")
    return Line(_lifted_moment(structured, now), task, severity, {"jsonPayload": structured})


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lifted_moment(structured: dict[str, Any], now: float) -> float:
    for key in ("time", "timestamp"):
        if isinstance(structured.get(key), str):
            try:
                found = timestamps.moment(structured[key])
            except ValueError:
                continue
            structured.pop(key)
            return found
    return now
