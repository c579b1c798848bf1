"""Log entries as Cloud Logging stores them for `ml_job` resources, written by replicas and the service.

Entries are stored in SQLite and not kept in memory. A job has at most MAX_ENTRIES_PER_JOB of them, then one line states
this.

Sources of their format: an entry of a replica in a public issue thread (cortex-data-foundation#42, 2023-11) and one of
its stderr (viamrobotics/api, pull request 534, 2024); for the service's own, a label that public code tests (inferred).
"""

import json
import zlib
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
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One log line. `payload` is `{"textPayload": ...}` (of the service) or `{"jsonPayload": {...}}`."""

    moment: float
    task: str
    severity: str
    payload: dict[str, Any]


def replica_line(moment: float, task: str, severity: str, text: str, *, is_stderr: bool = False) -> Line:
    """Return a line of text of a replica, with the payload that the service makes of it."""
    attributes = {"attrs": {"tag": task}} if is_stderr else {}
    return Line(moment, task, severity, {"jsonPayload": {"message": text, "levelname": severity, **attributes}})


class Logs:
    """The log table."""

    def __init__(self, store: Store, lateness: tuple[float, float] = (0.0, 0.0)) -> None:
        """`lateness` are the fewest and the most seconds after which an entry can be read."""
        self._store, self._db, self._lateness = store, store.db, lateness
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
            data = json.dumps(line.payload | {"_": [job.project_id, job.trial, machine, job.location]})
            # A time as float is exact to microseconds only.
            nanoseconds = round(line.moment * 1e6) * 1000
            severity = SEVERITIES.get(line.severity, 0)
            row = (number, job.project, job.id, line.task, nanoseconds, _insert_id(number), severity, data)
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
        received_by: float,
        after: tuple[int, str] | None,
        descending: bool,
    ) -> Iterator[tuple[int, str, Entry]]:
        """Yield (nanoseconds, insertId, entry) in order, starting after `after`. `jobs` None means all.

        Entries that were not received by `received_by` are left out.
        """
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
                received = row[2] + self._lag(row[3])
                if received <= round(received_by * 1e6) * 1000:
                    yield row[2], row[3], _entry(*row, received=received)

    def _lag(self, insert_id: str) -> int:
        """Return how many nanoseconds an entry is late. Entries written together arrive in any order."""
        fewest, most = self._lateness
        share = zlib.crc32(insert_id.encode()) / 2**32
        return round((fewest + share * (most - fewest)) * 1e9)


def _insert_id(number: int) -> str:
    """Return 13 digits of base 36. They sort as text, because all have the same length."""
    digits = ""
    for _ in range(13):
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return digits


def _placeholders(values: Iterable[str]) -> str:
    return ", ".join("?" for _ in values)


def _nanoseconds(moment: int) -> str:
    return format_time(moment // 1000 / 1e6)[:-1] + f"{moment % 1000:03d}Z"


def _entry(job: str, task: str, moment: int, insert_id: str, severity: int, data: str, *, received: int) -> Entry:
    payload = json.loads(data)
    project_id, trial, machine_name, *location = payload.pop("_")
    region = location[0] if location else "us-central1"  # entries from before the location was stored
    log = "ml.googleapis.com%2F" + job if task == "service" else task
    if task == "service":
        labels = {"ml.googleapis.com/endpoint": f"{region}-aiplatform.googleapis.com"}
    else:
        labels = {
            "compute.googleapis.com/resource_id": str(10**18 + zlib.crc32(machine_name.encode())),
            "compute.googleapis.com/resource_name": machine_name,
            "compute.googleapis.com/zone": f"{region}-a",
            "ml.googleapis.com/job_id/log_area": "root",
            "ml.googleapis.com/tpu_worker_id": "",
            "ml.googleapis.com/trial_id": trial,
            "ml.googleapis.com/trial_type": "",
        }
    return {
        "insertId": insert_id,
        "logName": f"projects/{project_id}/logs/{log}",
        "resource": {
            "type": "ml_job",
            "labels": {"job_id": job, "project_id": project_id, "task_name": task},
        },
        "labels": labels,
        "timestamp": _nanoseconds(moment),
        "receiveTimestamp": _nanoseconds(received),
        **({"severity": SEVERITY_NAMES[severity]} if severity else {}),
        **payload,
    }
