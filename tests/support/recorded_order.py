"""A proxy in front of the emulator that gives its answers the order and times of recorded answers of Vertex AI.

Recorded from the real service in 2026 (tests/data/recorded/): a custom job is created PENDING without `startTime`. From
about 0.3 s later until it really runs, `startTime` is a provisional time, 0.12 to 0.17 s after creation. Then it is
replaced by a whole second. A job that ends before it runs keeps the provisional one. A tuning job's `startTime` is that
of its study, a pipeline's is 0.25 s after its creation, and a pipeline is RUNNING at once. Nobody recorded what happens
after a restart, so each `AfterRestart` is tried.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.servers import in_thread

WAITING = frozenset({"JOB_STATE_QUEUED", "JOB_STATE_PENDING"})
PROVISIONAL_AFTER = timedelta(seconds=0.147213)
STUDY_BEGINS_AFTER = timedelta(seconds=0.120464)
PIPELINE_BEGINS_AFTER = timedelta(seconds=0.253827)
MIN_SETTLED = timedelta(seconds=1)
COPIED_HEADERS = ("Content-Type", "Retry-After")


class AfterRestart(StrEnum):
    """What `startTime` is after a restart. Nobody recorded it."""

    KEPT = "kept"
    """The first settled start, for ever."""
    REPLACED = "replaced"
    """The start of the newest run."""
    RESET = "reset"
    """The provisional time while the job waits again, then the start of the newest run."""


class RecordedOrder:
    """Rewrites answers. It remembers when each job last began to run, as the emulator's answers showed it."""

    def __init__(self, after_restart: AfterRestart) -> None:
        self._after_restart = after_restart
        self._states: dict[str, str] = {}
        self._newest_run: dict[str, datetime] = {}

    def answer(self, verb: str, path: str, value: Any) -> Any:
        """Return an answer as the real service would give it."""
        if not isinstance(value, dict) or "/_emulator/" in path:
            return value
        is_created = verb == "POST" and ":" not in path.rpartition("/")[2]
        for key, change in (
            ("customJobs", self._custom_job),
            ("hyperparameterTuningJobs", self._tuning_job),
            ("trainingPipelines", self._pipeline),
        ):
            if isinstance(value.get(key), list):
                return value | {key: [change(each, is_created=False) for each in value[key]]}
            if f"/{key}/" in str(value.get("name", "")) and "createTime" in value:
                return change(value, is_created=is_created)
        return value

    def _custom_job(self, job: dict[str, Any], *, is_created: bool) -> dict[str, Any]:
        name, created, state = job["name"], _moment(job["createTime"]), job["state"]
        before, self._states[name] = self._states.get(name, ""), state
        started = job.get("startTime")
        if state == "JOB_STATE_RUNNING" and before != state:
            self._newest_run[name] = _moment(job["updateTime"] if before else started)
        found = job | {"startTime": _text(created + PROVISIONAL_AFTER)}
        if is_created:
            found = {key: each for key, each in job.items() if key != "startTime"}
            return found | {"state": "JOB_STATE_PENDING" if state in WAITING else state}
        is_reset = state in WAITING and self._after_restart == AfterRestart.RESET
        if started is not None and not is_reset:
            is_kept = self._after_restart == AfterRestart.KEPT
            begun = _moment(started) if is_kept else max(self._newest_run.get(name, _moment(started)), _moment(started))
            found["startTime"] = _second(max(begun, created + MIN_SETTLED + timedelta(microseconds=999_999)))
        if "endTime" in job and state in {"JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"}:
            found["endTime"] = _second(_moment(job["endTime"]))
        if state == "JOB_STATE_CANCELLED" and "error" not in job:
            found["error"] = {"code": 1, "message": "CANCELED"}
        return found

    def _tuning_job(self, job: dict[str, Any], *, is_created: bool) -> dict[str, Any]:
        found = job | {"startTime": _text(_moment(job["createTime"]) + STUDY_BEGINS_AFTER)}
        if is_created:
            del found["startTime"]
            found["state"] = "JOB_STATE_PENDING"
        if job["state"] == "JOB_STATE_CANCELLED":  # as recorded on 8 July 2026, although no trial ever ran
            found["startTime"] = _second(_moment(job["createTime"]) + 2 * MIN_SETTLED)
        return found

    def _pipeline(self, job: dict[str, Any], *, is_created: bool) -> dict[str, Any]:
        found = job | {"startTime": _text(_moment(job["createTime"]) + PIPELINE_BEGINS_AFTER)}
        if is_created:
            del found["startTime"]
        elif job["state"] in {"PIPELINE_STATE_QUEUED", "PIPELINE_STATE_PENDING"}:
            found["state"] = "PIPELINE_STATE_RUNNING"
        return found


@contextmanager
def proxy(emulator: str, after_restart: AfterRestart) -> Iterator[str]:
    """Serve a rewriting proxy in front of the emulator at this address, and yield its own address."""
    order = RecordedOrder(after_restart)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = urllib.request.Request(emulator + self.path, data=body or None, method=self.command)  # loopback
            for name in ("Content-Type", "Authorization", "X-Goog-User-Project"):
                if name in self.headers:
                    request.add_header(name, self.headers[name])
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    status, headers, content = answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                status, headers, content = error.code, error.headers, error.read()
            if status == 200:
                changed = order.answer(self.command, self.path.partition("?")[0], json.loads(content or b"{}"))
                content = json.dumps(changed).encode()
            self.send_response(status)
            for name in COPIED_HEADERS:
                if name in headers:
                    self.send_header(name, headers[name])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = do_PATCH = _forward  # noqa: N815 - names of the standard library

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


def _moment(value: str) -> datetime:
    return datetime.fromisoformat(value)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _second(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
