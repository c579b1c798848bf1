"""The recording of a run: every answer, without private values, as rows of one file of JSON lines.

The first row describes the run (`kind: run`). A row of kind `http` is one answer of Vertex AI, Cloud Logging or another
API: `experiment`, `step`, `method`, `path`, `request`, `status`, `at` (when it arrived, RFC 3339), `body`. An answer
that equals the one before it of the same method and path has no body and `unchanged: true`. Rows of kind `claim` hold
the outcomes. `source.path` names a folder for each experiment with a number, so that sequences stay together if files
of several people are joined.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from jobs.vertex import wire

FORMAT = 1
STATE_KEY = "state"


class Unreadable(ValueError):
    """A file that is not a recording."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One recorded answer. `at` is when it arrived. `status` is None if the call got no answer."""

    experiment: str
    step: str
    method: str
    path: str
    request: Mapping[str, Any]
    status: int | None
    at: datetime
    body: Mapping[str, Any]

    @property
    def error(self) -> Mapping[str, Any]:
        """Google's error envelope, {} for a success."""
        return wire.mapping(self.body.get("error")) if self.status is not None and self.status >= 400 else {}

    @property
    def message(self) -> str:
        """The message of the error."""
        return wire.text(self.error.get("message"))

    @property
    def job_bodies(self) -> list[Mapping[str, Any]]:
        """The jobs in the answer: one for create and get, any number for a list."""
        collection, _, verb = self.method.rpartition(".")
        if self.status != 200 or collection not in ("customJobs", "hyperparameterTuningJobs", "trainingPipelines"):
            return []
        if verb == "list":
            listed = self.body.get(collection)
            return [wire.mapping(each) for each in listed] if isinstance(listed, list) else []
        return [self.body] if verb in ("create", "get") else []


@dataclass(frozen=True, slots=True)
class Line:
    """One log entry: `task` is `service` or a replica. `received` is None if the entry does not contain it."""

    at: datetime
    received: datetime | None
    task: str
    severity: str
    text: str
    raw: Mapping[str, Any]


@dataclass
class Recording:
    """The answers of a run in order. `about` is the first row."""

    about: dict[str, Any] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)

    def of(self, experiment: str) -> "Story":
        """Return what was recorded of one experiment, or of all if `experiment` is empty."""
        return Story([each for each in self.answers if experiment in ("", each.experiment)], self.about)

    @property
    def speed(self) -> float:
        """How many times faster than the real service an emulator runs; 1 for the service itself."""
        speed = self.about.get("speed", 1)
        return float(speed) if isinstance(speed, int | float) else 1.0

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the file."""
        yield {"kind": "run", "format": FORMAT, **self.about}
        last: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        numbers: dict[str, int] = {}
        for answer in self.answers:
            numbers[answer.experiment] = numbers.get(answer.experiment, 0) + 1
            key = (answer.experiment, answer.method, answer.path)
            is_same = answer.method.endswith(".get") and last.get(key) == answer.body
            last[key] = answer.body
            row: dict[str, Any] = {
                "kind": "http",
                "source": {"path": f"conformance/{answer.experiment}/{numbers[answer.experiment]}"},
                "experiment": answer.experiment,
                "step": answer.step,
                "method": answer.method,
                "path": answer.path,
                "status": answer.status,
                "at": wire.timestamp(answer.at),
            }
            row |= {"request": answer.request} if answer.request else {}
            yield row | ({"unchanged": True} if is_same else {"body": answer.body})
        yield from self.outcomes

    def write(self, path: Path) -> None:
        """Write the file."""
        with path.open("w", encoding="utf-8") as file:
            for row in self.rows():
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read(path: Path) -> Recording:
    """Return the recording in a file. Also accept rows without `experiment`, with `date` in place of `at`.

    Raise Unreadable if a row is not JSON or contains no answer that can be placed in time.
    """
    found, last = Recording(), dict[tuple[str, str, str], Mapping[str, Any]]()
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                row = wire.decode(text.encode())
            except ValueError as error:
                raise Unreadable(f"{path}, line {number}: {error}") from None
            if not isinstance(row, dict):
                raise Unreadable(f"{path}, line {number}: not a JSON object")
            if row.get("kind") == "run":
                found.about = {key: value for key, value in row.items() if key not in ("kind", "format")}
            elif row.get("kind") == "claim":
                found.outcomes.append(row)
            elif row.get("kind") == "http":
                answer = _answer(row, last)
                if answer is None:
                    raise Unreadable(f"{path}, line {number}: the answer has no time")
                found.answers.append(answer)
    return found


def _answer(row: Mapping[str, Any], last: dict[tuple[str, str, str], Mapping[str, Any]]) -> Answer | None:
    source = wire.text(wire.mapping(row.get("source")).get("path"))
    experiment = wire.text(row.get("experiment")) or source.rpartition("/")[0]
    method, path = wire.text(row.get("method")), wire.text(row.get("path"))
    key = (experiment, method, path)
    body = last.get(key, {}) if row.get("unchanged") else wire.mapping(row.get("body"))
    last[key] = body
    at = wire.moment(row.get("at")) or _http_date(wire.text(row.get("date")))
    if at is None:
        return None
    step, status = wire.text(row.get("step")), wire.whole(row.get("status"))
    return Answer(experiment, step, method, path, wire.mapping(row.get("request")), status, at, body)


def _http_date(text: str) -> datetime | None:
    try:
        return wire.moment(parsedate_to_datetime(text).isoformat())
    except (ValueError, TypeError):
        return None


class Story:
    """What was recorded of one experiment, as claims read it. All lists are in the order of time."""

    def __init__(self, answers: Sequence[Answer], about: Mapping[str, Any]) -> None:
        self.answers, self.about = list(answers), about

    def calls(self, method: str, step: str = "") -> list[Answer]:
        """Return the answers of a method, those of one step if it is given."""
        return [each for each in self.answers if each.method == method and step in ("", each.step)]

    def call(self, method: str, step: str = "") -> Answer | None:
        """Return the first such answer."""
        return next(iter(self.calls(method, step)), None)

    def polls(self, kind: str = "customJobs") -> list[Answer]:
        """Return the successful answers about the experiment's job: its create and its gets."""
        methods = (f"{kind}.create", f"{kind}.get")
        return [
            each for each in self.answers if each.method in methods and each.status == 200 and STATE_KEY in each.body
        ]

    def states(self, kind: str = "customJobs") -> list[str]:
        """Return the states in the order in which they were seen, without repeats, and without their prefixes."""
        found: list[str] = []
        for poll in self.polls(kind):
            state = state_of(poll)
            if not found or found[-1] != state:
                found.append(state)
        return found

    def first(self, *states: str, kind: str = "customJobs") -> Answer | None:
        """Return the first poll with one of these states."""
        return next((poll for poll in self.polls(kind) if state_of(poll) in states), None)

    def lines(self, task: str = "", job: str = "") -> list[Line]:
        """Return the log lines, each once: those of "service", of all of a job's "replica"s, or all of them."""
        found: dict[str, Line] = {}
        for answer in self.answers:
            entries = answer.body.get("entries") if answer.method == "entries.list" else None
            for entry in entries if isinstance(entries, list) else ():
                line = _line(wire.mapping(entry))
                if line is not None and job in ("", wire.text(_labels(line.raw).get("job_id"))):
                    found[wire.text(entry.get("insertId")) or str(len(found))] = line
        lines = list(found.values())
        if task:
            lines = [line for line in lines if (line.task == "service") == (task == "service")]
        return sorted(lines, key=lambda line: line.at)


def state_of(answer: Answer) -> str:
    """Return the state in an answer without its prefix: RUNNING."""
    return wire.text(answer.body.get(STATE_KEY)).removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_")


def time_in(answer: Answer | None, name: str) -> datetime | None:
    """Return a time in an answer's body, cut to microseconds."""
    return None if answer is None else wire.moment(answer.body.get(name))


def digits_of(answer: Answer | None, name: str) -> int:
    """Return the number of digits after the point of a time in an answer's body."""
    text = "" if answer is None else wire.text(answer.body.get(name))
    return len(text.partition(".")[2].rstrip("Z"))


def seconds(span: timedelta) -> str:
    """Return a span for evidence: `12.4 s`."""
    return f"{span.total_seconds():.3f}".rstrip("0").rstrip(".") + " s"


def _labels(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return wire.mapping(wire.mapping(entry.get("resource")).get("labels"))


def _line(entry: Mapping[str, Any]) -> Line | None:
    at = wire.moment(entry.get("timestamp"))
    if at is None:
        return None
    payload = wire.mapping(entry.get("jsonPayload"))
    text = wire.text(payload.get("message") if payload else entry.get("textPayload"))
    received = wire.moment(entry.get("receiveTimestamp"))
    return Line(at, received, wire.text(_labels(entry).get("task_name")), wire.text(entry.get("severity")), text, entry)
