"""Log entries as Cloud Logging stores them for `ml_job` resources, written by replicas and the service.

Entries are stored in SQLite and not kept in memory. A job has at most MAX_ENTRIES_PER_JOB of them, then one line states
this. Format of an entry: resource.labels job_id, project_id, task_name; textPayload or jsonPayload; severity; insertId.
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
    """One log line. `payload` is `{"textPayload": ...}` or `{"jsonPayload": {...}}`."""

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
        """Return the number of entries of a job."""
        if job_id not in self._counts:
            (count,) = self._db.execute("select count(*) from logs where job = ?", (job_id,)).fetchone()
            self._counts[job_id] = int(count)
        return self._counts[job_id]

    def open(self, job_id: str) -> None:
        """Start the log of a new job, which has no entries."""
        self._counts[job_id] = 0

    def write(self, job: Job, lines: Iterable[Line]) -> None:
        """Write log lines. Beyond the limit, write only those of the service itself."""
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
            # Data for the labels of an entry. `_entry` removes it from the payload again.
            data = json.dumps(line.payload | {"_": [job.project_id, job.trial, machine]})
            # A time as float is exact to microseconds only.
            nanoseconds = round(line.moment * 1e6) * 1000
            severity = SEVERITIES.get(line.severity, 0)
            # The insertId has the same length for every number, so that it sorts as text.
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
        """Yield (nanoseconds, insertId, entry) in order, starting after `after`. `jobs` None means all."""
        where, values = [f"project in ({_placeholders(projects)})"], [*projects]
        if jobs is not None:
            where.append(f"job in ({_placeholders(jobs)})")
            values += jobs
        terms: list[Any] = list(values)
        if since is not None:
            where.append("moment >= ?")
            # Slightly earlier, because a float is not exact. The caller's filter checks each entry.
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
