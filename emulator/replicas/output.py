"""Turn a replica's output into log lines. JSON objects become entries with their fields, other text a message."""

import json
from collections import deque
from collections.abc import Iterator
from typing import Any

from emulator.protocol import timestamps
from emulator.state.logs import MAX_ENTRY_BYTES, SEVERITIES, Line, replica_line

MAX_TAIL_LINES, MAX_TAIL_CHARACTERS = 40, 2_000
TRACEBACK = "Traceback (most recent call last):"
SEVERITY_OF_STREAM = {"stdout": "INFO", "stderr": "ERROR"}


class LineSplitter:
    """Splits a byte stream into lines. A line longer than the maximum of an entry is split into pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """Add bytes. Yield the complete lines."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > MAX_ENTRY_BYTES:
            lines.append(self._rest[:MAX_ENTRY_BYTES])
            self._rest = self._rest[MAX_ENTRY_BYTES:]
        for line in lines:
            for start in range(0, max(len(line), 1), MAX_ENTRY_BYTES):
                yield line[start : start + MAX_ENTRY_BYTES].decode(errors="replace").rstrip("\r")

    def end(self) -> Iterator[str]:
        """Yield the rest, which has no line end."""
        if self._rest:
            yield self._rest.decode(errors="replace")
        self._rest = b""


class Tail:
    """Keeps the last lines of a replica's stderr for the error message."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_TAIL_LINES)

    def add(self, line: str) -> None:
        """Add a line."""
        self._lines.append(line[:MAX_TAIL_CHARACTERS])

    def text(self) -> str:
        """Return the last traceback if there is one, else the last lines."""
        lines = list(self._lines)
        starts = [number for number, line in enumerate(lines) if line.startswith(TRACEBACK)]
        kept = lines[starts[-1] :] if starts else lines[-10:]
        return "\n".join(kept)[-MAX_TAIL_CHARACTERS:]


def log_line(text: str, *, stream: str, task: str, now: float) -> Line:
    """Return the log line for a line of output.

    The fields severity, time and timestamp of a JSON object become those of the line.
    """
    severity = SEVERITY_OF_STREAM[stream]
    structured = _parse_object(text)
    if structured is None:
        return replica_line(now, task, severity, text, is_stderr=stream == "stderr")
    named = str(structured.get("severity", "")).upper()
    if named in SEVERITIES:
        severity = named
        structured.pop("severity")
    return Line(_pop_moment(structured, now), task, severity, {"jsonPayload": structured})


def _parse_object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _pop_moment(structured: dict[str, Any], now: float) -> float:
    for key in ("time", "timestamp"):
        if isinstance(structured.get(key), str):
            try:
                moment = timestamps.parse_time(structured[key])
            except ValueError:
                continue
            structured.pop(key)
            return moment
    return now
