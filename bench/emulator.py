"""Benchmarks of the emulator: create, list and memory with 10,000 jobs, and a job that floods its log.

Run as a script. It prints a table of limits and measurements, and fails if a limit is missed. One client and the
emulator work in turns, so the number of jobs created per second of their CPU time is what an idle machine creates in a
second. By the clock, it is less whenever something else runs.
"""

import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench._table import Figure, tell  # noqa: E402

JOBS = "/v1/projects/bench/locations/us-central1/customJobs"
COUNT = 10_000
PAGES = 100
FLOOD_LINES = 400_000


class Client:
    """A persistent connection."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=60)

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """Send a request and return its JSON."""
        self._connection.request(verb, path, None if body is None else json.dumps(body))
        answer = self._connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return json.loads(content)


def job(number: int, command: list[str] | None = None) -> dict[str, Any]:
    """Return a body like those that the site sends."""
    container = {"imageUri": "us-docker.pkg.dev/p/r/i", "args": ["--epochs", "40"]}
    container |= {"command": command} if command else {}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": container}
    return {
        "displayName": f"job {number}",
        "labels": {"trainboard_job": f"{number:032x}", "trainboard_instance": "bench"},
        "jobSpec": {
            "workerPoolSpecs": [pool],
            "baseOutputDirectory": {"outputUriPrefix": f"gs://bench/{number}/"},
            "scheduling": {"timeout": "86400s", "strategy": "SPOT"},
        },
    }


def memory_mib(pid: int) -> float:
    """Return a process's resident memory."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout
    return int(shown) / 1024


def timed(client: Client, path: str) -> float:
    """Return the median duration of a list request in milliseconds."""
    spans = []
    for _ in range(21):
        start = time.perf_counter()
        client.call("GET", path)
        spans.append((time.perf_counter() - start) * 1000)
    return statistics.median(spans)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time used so far by this process and the other."""
    other = psutil.Process(pid).cpu_times()
    return time.process_time() + other.user + other.system


def creating(client: Client, pid: int) -> list[Figure]:
    """Measure creating the jobs."""
    start, spent = time.perf_counter(), cpu_seconds(pid)
    for number in range(COUNT):
        client.call("POST", JOBS, job(number))
    by_clock, by_cpu = COUNT / (time.perf_counter() - start), COUNT / (cpu_seconds(pid) - spent)
    return [
        Figure("jobs created a second, one client: of CPU time of both", by_cpu, "/s", 300, is_rate=True),
        Figure("  by the clock, with whatever else this machine does", by_clock, "/s"),
    ]


def listing(client: Client) -> list[Figure]:
    """Measure listing the jobs in pages."""
    last, token = JOBS + "?pageSize=100", ""
    for _ in range(PAGES - 1):
        token = client.call("GET", f"{JOBS}?pageSize=100&pageToken={token}")["nextPageToken"]
    last += f"&pageToken={token}"
    needle = f"{JOBS}?pageSize=100&filter=labels.trainboard_job%3D%22{0:032x}%22"
    return [
        Figure("first page of 100, of 10,000 jobs", timed(client, JOBS + "?pageSize=100"), "ms", 15),
        Figure("last page of 100", timed(client, last), "ms", 15),
        Figure("page found by a label, one in 10,000", timed(client, needle), "ms", 15),
    ]


def flood(client: Client, pid: int) -> list[Figure]:
    """Run a job that logs as fast as it can, and measure other requests meanwhile."""
    code = f"for n in range({FLOOD_LINES}): print('x' * 200, n)"
    made = client.call("POST", JOBS, job(COUNT, ["python", "-c", code]))
    worst, peak = 0.0, 0.0
    end = time.monotonic() + 20
    while time.monotonic() < end:
        start = time.perf_counter()
        state = client.call("GET", "/v1/" + made["name"])["state"]
        worst = max(worst, (time.perf_counter() - start) * 1000)
        peak = max(peak, memory_mib(pid))
        if state == "JOB_STATE_SUCCEEDED":
            break
        time.sleep(0.05)
    return [
        Figure("slowest answer while a job floods its log", worst, "ms", 1_000),
        Figure("memory while it does, 10,000 jobs kept", peak, "MiB", 300),
    ]


def measure(state: str, *, options: tuple[str, ...], parts: tuple[str, ...]) -> list[Figure]:
    """Start an emulator, measure, and stop it."""
    command = [sys.executable, "-m", "emulator", "--port", "0", "--state", state, *options]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        found = re.search(r"http://(\S+)", process.stdout.readline())
        assert found is not None
        start_ms = (time.perf_counter() - started) * 1000
        client, figures = Client(found[1]), []
        if "list" in parts:
            figures += creating(client, process.pid) + listing(client)
        figures.append(Figure(f"start{'' if 'list' in parts else ' with 10,000 jobs'}", start_ms, "ms", 5_000))
        if "flood" in parts:
            figures += flood(client, process.pid)
        return figures
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def main() -> int:
    """Measure everything. Return 1 if a limit is missed."""
    with tempfile.TemporaryDirectory() as state:
        figures = measure(state, options=("--scripted",), parts=("list",))
        figures += measure(state, options=("--speed", "100000"), parts=("flood",))
    return tell(figures)


if __name__ == "__main__":
    sys.exit(main())
