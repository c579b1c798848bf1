"""The journal: what a run is about to create, written to disk before each create, so that a later run can clean up.

One file of JSON lines. An entry is open until the run that made it, or a later one, has seen that nothing is left.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One create. `kind` is a kind of job, or `persistent_resource`, whose `name` is its id and known before.

    `run` is the value of the run's label on every job. `usd` is the most that it can cost. `name` is "" until an answer
    has named the job.
    """

    run: str
    number: int
    experiment: str
    kind: str
    project: str
    region: str
    folder: str
    usd: str
    name: str = ""


class Journal:
    """The journal in a file. Every change is on disk before the method returns. Only one process may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: dict[tuple[str, int], Request] = {}
        for row in self._rows():
            request = Request(**{name: row[name] for name in Request.__slots__ if name in row})
            self._open.pop((request.run, request.number), None)
            if row.get("is_open"):
                self._open[request.run, request.number] = request

    @property
    def unfinished(self) -> list[Request]:
        """The open entries, oldest first."""
        return list(self._open.values())

    def write(self, request: Request) -> None:
        """Add an entry, or replace the one with its run and number."""
        self._append(request, is_open=True)
        self._open[request.run, request.number] = request

    def close(self, request: Request) -> None:
        """Close an entry, because nothing of it is left. The file is emptied when no entry is open."""
        self._append(request, is_open=False)
        self._open.pop((request.run, request.number), None)
        if not self._open:
            self._path.write_text("")

    def _append(self, request: Request, *, is_open: bool) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(request) | {"is_open": is_open}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows. A last line that a kill cut in the middle is left out: its create was not sent yet."""
        if not self._path.exists():
            return
        for text in self._path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(text)
            except ValueError:
                continue
            yield row
