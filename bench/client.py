"""The client race: jobs.vertex against Google's generated client and its SDK, on one local server, in one run.

Every contender is a separate program in `bench/contenders/`. The server sends the same bytes to all of them, so the
results differ only by the cost of sending requests and parsing responses. Times are of whole processes, and memory is
their peak.
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench._table import Row, show  # noqa: E402
from bench.contenders.task import BODY, JOB_COUNT, NAME  # noqa: E402

CONTENDERS = {"ours": "jobs.vertex", "generated": "generated client, REST", "sdk": "high-level SDK, REST"}
ROUNDS = 3
ENOUGH_SECONDS = 50
"""No further round starts after this, so that the race ends within two minutes on a busy machine."""
PAGE = 100
MAX_SECONDS = 40


def job(number: int) -> dict[str, Any]:
    """Return one running job as Vertex AI returns it."""
    return {
        "name": f"{NAME}{number + 10**18}",
        "displayName": f"penguins-{number}",
        "state": "JOB_STATE_RUNNING",
        "createTime": "2026-11-21T08:00:00.123456Z",
        "startTime": "2026-11-21T08:03:00Z",
        "updateTime": "2026-11-21T08:04:00.5Z",
        "labels": {"trainboard_job": f"{number:032x}", "trainboard_instance": "bench"},
        "jobSpec": BODY["jobSpec"],
    }


def pages() -> dict[str, bytes]:
    """Return {page token: response} for the list of all jobs."""
    answers = {}
    for first in range(0, JOB_COUNT, PAGE):
        following = str(first + PAGE) if first + PAGE < JOB_COUNT else ""
        listed = [job(number) for number in range(first, first + PAGE)]
        answers[str(first) if first else ""] = json.dumps({"customJobs": listed, "nextPageToken": following}).encode()
    return answers


class Answering(BaseHTTPRequestHandler):
    """Answers from memory in one write, so that the server slows the contenders as little as possible."""

    protocol_version = "HTTP/1.1"
    one = json.dumps(job(0)).encode()
    lists = pages()

    def do_GET(self) -> None:
        """Answer get and list."""
        parts = urlsplit(self.path)
        token = parse_qs(parts.query).get("pageToken", [""])[0]
        self._send(self.lists[token] if parts.path.endswith("/customJobs") else self.one)

    def do_POST(self) -> None:
        """Answer create."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(self.one)

    def _send(self, content: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        self.wfile.write(head.encode() + content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving() -> Iterator[str]:
    """Serve on a free port of this machine and yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Result:
    """The results of one contender, each the median of its rounds."""

    start_seconds: float
    peak_mib: float
    jobs_per_second: float


def run(contender: str, verb: str, url: str) -> tuple[float, float, str]:
    """Run a contender once and return (seconds, peak MiB, output)."""
    command = [sys.executable, str(ROOT / "bench" / "contenders" / f"{contender}.py"), verb, url]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_GCE_CHECK": "true"}
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(MAX_SECONDS, process.kill)
    watchdog.start()
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    watchdog.cancel()
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{contender} {verb} failed with {process.returncode}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return time.perf_counter() - began, usage.ru_maxrss / unit, printed


def measure(url: str) -> dict[str, Result]:
    """Run the contenders in turns, so that a busy moment of the machine affects all of them."""
    starts: dict[str, list[tuple[float, float, str]]] = {contender: [] for contender in CONTENDERS}
    lists: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    for contender in CONTENDERS:
        run(contender, "start", url)  # warms the disk cache
    began = time.perf_counter()
    for _ in range(ROUNDS):
        if starts["sdk"] and time.perf_counter() - began > ENOUGH_SECONDS:
            break
        for contender in CONTENDERS:
            starts[contender].append(run(contender, "start", url))
            lists[contender].append(float(run(contender, "list", url)[2]))
    return {
        contender: Result(
            start_seconds=statistics.median(seconds for seconds, _, _ in starts[contender]),
            peak_mib=statistics.median(mib for _, mib, _ in starts[contender]),
            jobs_per_second=statistics.median(lists[contender]),
        )
        for contender in CONTENDERS
    }


def main() -> None:
    """Run the race and print the table. Takes about a minute."""
    with serving() as url:
        results = measure(url)
    ours = results.pop("ours")
    rows = []
    for contender, peer in results.items():
        name = CONTENDERS[contender]
        starts, peaks = peer.start_seconds / ours.start_seconds, peer.peak_mib / ours.peak_mib
        listed = ours.jobs_per_second / peer.jobs_per_second
        rows += [
            Row(
                "import, client, create, get",
                ours.start_seconds,
                peer.start_seconds,
                "s",
                starts,
                f"faster than the {name}",
            ),
            Row("  its peak memory", ours.peak_mib, peer.peak_mib, "MiB", peaks, f"smaller than the {name}"),
            Row(
                "list 1,000 jobs",
                ours.jobs_per_second,
                peer.jobs_per_second,
                "jobs/s",
                listed,
                f"faster than the {name}",
            ),
        ]
    show(rows)


if __name__ == "__main__":
    main()
