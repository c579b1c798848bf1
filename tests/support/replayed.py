"""A Vertex AI that gives recorded answers about one job, each from the time at which the real service gave it.

The recordings (`recorded/jobs.jsonl`) are of custom and tuning jobs of 2026 in public repositories, each named with its
path. They hold times, states and errors. Names, labels and specs are those of the test's job.
"""

import json
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.clock import Clock
from tests.support.servers import in_thread

RECORDED = Path(__file__).parent / "recorded" / "jobs.jsonl"
TIMES = ("createTime", "startTime", "endTime", "updateTime")
ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED"})
COLLECTIONS = {
    "CustomJob": "customJobs",
    "HyperparameterTuningJob": "hyperparameterTuningJobs",
    "TrainingPipeline": "trainingPipelines",
}
EVERY = (*COLLECTIONS.values(), "persistentResources")
OTHERS = {name: tuple(f"/{other}" for other in EVERY if other != name) for name in EVERY}
FIRST_NUMBER = 4611686018427387904


@dataclass(frozen=True)
class Answer:
    """What the service says about the job from `since` on."""

    since: datetime
    fields: dict[str, Any]

    @property
    def has_ended(self) -> bool:
        """Whether the job has ended."""
        return str(self.fields["state"]).partition("_STATE_")[2] in ENDED


def recorded_rows() -> list[dict[str, Any]]:
    """Return the recorded rows."""
    return [json.loads(line) for line in RECORDED.read_text().splitlines()]


def whole_lives() -> dict[str, list[Answer]]:
    """Return {name: answers} of each recorded custom job that ran.

    Its last answer was recorded. Those before it are the ones recorded of other jobs, moved to its times: PENDING
    without `startTime`, QUEUED and PENDING with the provisional one, and RUNNING 13 s after the settled one.
    """
    found: dict[str, list[Answer]] = {}
    for row in recorded_rows():
        if row["category"] != "resource" or row["kind"] != "CustomJob" or "." in row.get("startTime", "."):
            continue
        created, started = datetime.fromisoformat(row["createTime"]), datetime.fromisoformat(row["startTime"])
        provisional = rfc3339(created + timedelta(seconds=0.147213))
        last = fields_of(row)
        answers = [
            answer_at(created, "PENDING", created),
            answer_at(created + timedelta(seconds=0.34), "QUEUED", created, startTime=provisional),
            answer_at(created + timedelta(seconds=2.49), "PENDING", created, startTime=provisional),
            answer_at(started + timedelta(seconds=12.8), "RUNNING", created, startTime=row["startTime"]),
        ]
        if row["state"] != "JOB_STATE_RUNNING":
            answers.append(Answer(datetime.fromisoformat(row["updateTime"]), last))
        found[f"{row['job']} {row['state'].removeprefix('JOB_STATE_').lower()}"] = answers
    return found


def recorded_cancellations(kind: str) -> dict[str, list[Answer]]:
    """Return {name: answers} of each recorded job that was cancelled before it ran; every answer was recorded."""
    found: dict[str, list[Answer]] = {}
    for row in recorded_rows():
        if row["category"] == "resource" and row["kind"] == kind and row["createTime"] > "2026-07":
            answers = found.setdefault(f"created {row['createTime']}", [])
            answers.append(Answer(datetime.fromisoformat(row["updateTime"]), fields_of(row)))
    return found


def fields_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded fields of an answer."""
    found = {name: row[name] for name in (*TIMES, "error") if name in row}
    return found | {"state": row["state"].partition(" ")[0]}


def answer_at(at: datetime, state: str, created: datetime, **fields: Any) -> Answer:
    """Return an answer about a custom job that was updated at `at`."""
    times = {"createTime": rfc3339(created), "updateTime": rfc3339(at)}
    return Answer(at, times | fields | {"state": f"JOB_STATE_{state}"})


def rfc3339(at: datetime) -> str:
    """Return a time as Vertex AI writes it: in microseconds, or without a fraction if it is a whole second."""
    return at.isoformat().replace("+00:00", "Z")


@dataclass
class Replayed:
    """The answers about one job. `log` are the entries that Cloud Logging has about it."""

    clock: Clock
    kind: str = "CustomJob"
    answers: Sequence[Answer] = ()
    log: list[dict[str, Any]] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    number: int = FIRST_NUMBER - 1
    cancelled: bool = False
    filters: list[str] = field(default_factory=list)
    """The filters of the list calls, in order."""

    @property
    def now_says(self) -> Answer:
        """The newest answer at the time of the test."""
        return next((each for each in reversed(self.answers) if each.since <= self.clock.now), self.answers[0])

    def document(self) -> dict[str, Any]:
        """Return the job as the service describes it now."""
        return self.body | {key: value for key, value in self.now_says.fields.items() if value is not None}

    def service_line(self, at: datetime, message: str, severity: str = "INFO") -> None:
        """Add a line of the service, in the shape of a recorded entry."""
        labels = {"project_id": "vision-research", "job_id": str(self.number), "task_name": "service"}
        self.log.append(
            {
                "insertId": f"line{len(self.log)}",
                "jsonPayload": {"message": message, "levelname": severity},
                "resource": {"type": "ml_job", "labels": labels},
                "timestamp": rfc3339(at),
                "severity": severity,
            }
        )

    def handle(self, verb: str, target: str, body: Any) -> tuple[int, Any]:
        """Return the status and the JSON of the answer to a request."""
        path, _, query = target.partition("?")
        collection = COLLECTIONS[self.kind]
        if path.endswith("entries:list"):
            lines = [entry for entry in self.log if entry["timestamp"] <= rfc3339(self.clock.now)]
            return 200, {"entries": lines} if lines else {}
        if verb == "POST" and path.endswith(f"/{collection}"):
            parent = path.partition("/v1/")[2]
            self.number += 1
            self.body = body | {"name": f"{parent}/{self.number}"}
            return 200, self.document()
        if verb == "GET" and path.endswith(OTHERS[collection]):
            return 200, {}
        if verb == "GET" and path.endswith(f"/{collection}"):
            self.filters += urllib.parse.parse_qs(query).get("filter", [])
            is_listed = self.body and not self.now_says.has_ended
            return 200, {collection: [self.document()]} if is_listed else {}
        if verb == "GET" and self.body and path.endswith(self.body["name"]):
            return 200, self.document()
        if verb == "POST" and path.endswith(":cancel"):
            self.cancelled = True
            return 200, {}
        return 404, {"error": {"code": 404, "message": "The CustomJob does not exist.", "status": "NOT_FOUND"}}


@contextmanager
def replayed(clock: Clock) -> Iterator[Replayed]:
    """Serve recorded answers on loopback."""
    service = Replayed(clock)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = service.handle(self.command, self.path, json.loads(content or b"{}"))
            payload = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - names of the standard library

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with in_thread(server):
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield service
