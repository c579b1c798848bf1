"""Log entries as Cloud Logging keeps them for `ml_job` resources: written by replicas and the service, read by filter.

Entries live in SQLite, never in memory; a job keeps at most MAX_ENTRIES_PER_JOB of them, then one line states it.
Shape of an entry: resource.labels job_id, project_id, task_name; textPayload or jsonPayload; severity; insertId.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from emulator.protocol.timestamps import format_time
from emulator.state.records import Job
from emulator.state.store import Store

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
MAX_ENTRIES_PER_JOB = 100_000
MAX_ENTRY_BYTES = 256 * 1024
BATCH = 500
INSERT = "insert into logs values (?, ?, ?, ?, ?, ?, ?, ?)"
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One log line. payload: `{"textPayload": ...}` or `{"jsonPayload": {...}}`."""

    moment: float
    task: str
    severity: str
    payload: dict[str, Any]


class Logs:
    """The log table."""

    def __init__(self, store: Store) -> None:
        self._store, self._db = store, store.db
        (self._last,) = self._db.execute("select coalesce(max(number), 0) from logs").fetchone()
        self._counts: dict[str, int] = {}

    def count(self, job_id: str) -> int:
        """Return how many entries a job has."""
        if job_id not in self._counts:
            (count,) = self._db.execute("select count(*) from logs where job = ?", (job_id,)).fetchone()
            self._counts[job_id] = int(count)
        return self._counts[job_id]

    def open(self, job_id: str) -> None:
        """Start the log of a new job, which has no entries."""
        self._counts[job_id] = 0

    def write(self, job: Job, lines: Iterable[Line]) -> None:
        """Write log lines; beyond the limit only those of the service itself."""
        rows = []
        count = self.count(job.id)
        for line in lines:
            count += 1
            if count > MAX_ENTRIES_PER_JOB and line.task != "service":
                if count > MAX_ENTRIES_PER_JOB + 1:
                    continue
                text = f"The emulator keeps {MAX_ENTRIES_PER_JOB} entries of a job; the rest of this log is dropped."
                line = Line(line.moment, "service", "WARNING", {"textPayload": text})
            self._last += 1
            number = self._last
            machine = "" if line.task == "service" else job.machine_name(line.task)
            # What the labels of an entry need; `_entry` takes it out of the payload again.
            data = json.dumps(line.payload | {"_": [job.project_id, job.trial, machine]})
            # The float of a moment is exact to microseconds only.
            nanoseconds = round(line.moment * 1e6) * 1000
            severity = SEVERITIES.get(line.severity, 0)
            # The insertId has the same length for every number, so that it orders as text.
            row = (number, job.project, job.id, line.task, nanoseconds, f"{number:014x}", severity, data)
            rows.append(row)
        self._counts[job.id] = count
        if len(rows) == 1:
            self._db.execute(INSERT, rows[0])
        elif rows:
            with self._store.transaction():
                self._db.executemany(INSERT, rows)

    def read(
        self,
        *,
        projects: set[str],
        jobs: set[str] | None,
        since: float | None,
        after: tuple[int, str] | None,
        descending: bool,
    ) -> Iterator[tuple[int, str, Entry]]:
        """Yield entries in order as (nanoseconds, insertId, entry), starting behind `after`. jobs None = all."""
        where, values = [f"project in ({_placeholders(projects)})"], [*projects]
        if jobs is not None:
            where.append(f"job in ({_placeholders(jobs)})")
            values += jobs
        terms: list[Any] = list(values)
        if since is not None:
            where.append("moment >= ?")
            # A little earlier, for a float is not exact; the caller's filter decides about each entry.
            terms.append(int(since * 1e9) - 1000)
        if after is not None:
            where.append("(moment, insert_id) " + ("<" if descending else ">") + " (?, ?)")
            terms += after
        direction = "desc" if descending else "asc"
        order = f"order by moment {direction}, insert_id {direction}"
        query = f"select job, task, moment, insert_id, severity, payload from logs where {' and '.join(where)}"  # noqa: S608  # only constants; values are bound
        cursor = self._db.execute(f"{query} {order}", terms)
        while rows := cursor.fetchmany(BATCH):
            for row in rows:
                yield row[2], row[3], _entry(*row)


def _placeholders(values: Iterable[str]) -> str:
    return ", ".join("?" for _ in values)


def _entry(job: str, task: str, moment: int, insert_id: str, severity: int, data: str) -> Entry:
    payload = json.loads(data)
    project_id, trial, machine_name = payload.pop("_")
    when = format_time(moment // 1000 / 1e6)[:-1] + f"{moment % 1000:03d}Z"
    log = "ml.googleapis.com%2F" + job if task == "service" else task
    labels = {"ml.googleapis.com/job_id": job, "ml.googleapis.com/task_name": task}
    if trial:
        labels["ml.googleapis.com/trial_id"] = trial
    if machine_name:
        labels["compute.googleapis.com/resource_name"] = machine_name
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
