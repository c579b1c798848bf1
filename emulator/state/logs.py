"""Log entries as Cloud Logging keeps them for `ml_job` resources: written by replicas and the service, read by filter.

Entries live in SQLite, never in memory; a job keeps at most ENTRIES_PER_JOB of them, then one line says so.
Shape of an entry: resource.labels job_id, project_id, task_name; textPayload or jsonPayload; severity; insertId.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from emulator.protocol.timestamps import stamp
from emulator.state.records import Job
from emulator.state.transactions import together

SEVERITIES = {
    "DEFAULT": 0,
    "DEBUG": 100,
    "INFO": 200,
    "NOTICE": 300,
    "WARNING": 400,
    "ERROR": 500,
    "CRITICAL": 600,
    "ALERT": 700,
    "EMERGENCY": 800,
}
SEVERITY_NAMES = {number: name for name, number in SEVERITIES.items()}
ENTRIES_PER_JOB = 100_000
BYTES_PER_ENTRY = 256 * 1024
BATCH = 500
INSERT = "insert into logs values (?, ?, ?, ?, ?, ?, ?, ?)"
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said. payload: `{"textPayload": ...}` or `{"jsonPayload": {...}}`."""

    moment: float
    task: str
    severity: str
    payload: dict[str, Any]


class Logs:
    """The log table."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        (self._last,) = db.execute("select coalesce(max(number), 0) from logs").fetchone()
        self._counts: dict[str, int] = {}

    def count(self, job_id: str) -> int:
        """Return how many entries a job has."""
        if job_id not in self._counts:
            (found,) = self._db.execute("select count(*) from logs where job = ?", (job_id,)).fetchone()
            self._counts[job_id] = int(found)
        return self._counts[job_id]

    def open(self, job_id: str) -> None:
        """Begin the log of a new job, which has no entries."""
        self._counts[job_id] = 0

    def write(self, job: Job, lines: Iterable[Line]) -> None:
        """Keep what was said; beyond the limit only what the service itself says."""
        rows = []
        count = self.count(job.id)
        for line in lines:
            count += 1
            if count > ENTRIES_PER_JOB and line.task != "service":
                if count > ENTRIES_PER_JOB + 1:
                    continue
                text = f"The emulator keeps {ENTRIES_PER_JOB} entries of a job; the rest of this log is dropped."
                line = Line(line.moment, "service", "WARNING", {"textPayload": text})
            self._last += 1
            rows.append(self._row(job, line))
        self._counts[job.id] = count
        if len(rows) == 1:
            self._db.execute(INSERT, rows[0])
        elif rows:
            with together(self._db):
                self._db.executemany(INSERT, rows)

    def _row(self, job: Job, line: Line) -> tuple[Any, ...]:
        number = self._last
        data = json.dumps(line.payload | {"_": [job.project_id, job.trial, job.vm if line.task != "service" else ""]})
        nanoseconds = round(line.moment * 1e6) * 1000
        severity = SEVERITIES.get(line.severity, 0)
        return (number, job.project, job.id, line.task, nanoseconds, f"{number:014x}", severity, data)

    def service(self, job: Job, text: str, *, at: float, severity: str = "INFO") -> None:
        """Let the service say something about a job."""
        self.write(job, [Line(at, "service", severity, {"textPayload": text})])

    def read(
        self,
        *,
        projects: set[str],
        jobs: set[str] | None,
        since: float | None,
        after: tuple[int, str] | None,
        descending: bool,
    ) -> Iterator[tuple[int, str, Entry]]:
        """Walk entries in order as (nanoseconds, insertId, entry), starting behind `after`. jobs None = all."""
        where, values = [f"project in ({_marks(projects)})"], [*projects]
        if jobs is not None:
            where.append(f"job in ({_marks(jobs)})")
            values += jobs
        terms: list[Any] = list(values)
        if since is not None:
            where.append("moment >= ?")
            terms.append(int(since * 1e9) - 1000)
        if after is not None:
            where.append("(moment, insert_id) " + ("<" if descending else ">") + " (?, ?)")
            terms += after
        way = "desc" if descending else "asc"
        order = f"order by moment {way}, insert_id {way}"
        query = f"select job, task, moment, insert_id, severity, payload from logs where {' and '.join(where)}"  # noqa: S608  # our own words; values are bound
        cursor = self._db.execute(f"{query} {order}", terms)
        while rows := cursor.fetchmany(BATCH):
            for row in rows:
                yield row[2], row[3], _entry(*row)


def _marks(values: Iterable[str]) -> str:
    return ", ".join("?" for _ in values)


def _entry(job: str, task: str, moment: int, insert_id: str, severity: int, data: str) -> Entry:
    payload = json.loads(data)
    project_id, trial, vm = payload.pop("_")
    when = stamp(moment // 1000 / 1e6)[:-1] + f"{moment % 1000:03d}Z"
    log = "ml.googleapis.com%2F" + job if task == "service" else task
    labels = {"ml.googleapis.com/job_id": job, "ml.googleapis.com/task_name": task}
    if trial:
        labels["ml.googleapis.com/trial_id"] = trial
    if vm:
        labels["compute.googleapis.com/resource_name"] = vm
    return {
        "insertId": insert_id,
        "logName": f"projects/{project_id}/logs/{log}",
        "resource": {
            "type": "ml_job",
            "labels": {"job_id": job, "project_id": project_id, "task_name": task},
        },
        "labels": labels,
        "timestamp": when,
        "receiveTimestamp": when,
        **({"severity": SEVERITY_NAMES[severity]} if severity else {}),
        **payload,
    }
