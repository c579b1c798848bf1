"""The engine race: Trainboard's engine against polling with Google's SDK, 10,000 active jobs, one emulator, one run.

Afterwards one worker polls all jobs at the normal rate and within Google's quota while some are preempted and
cancelled, and jobs are submitted. Prints a table and fails if a figure misses its limit.
"""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench._table import Figure, tell  # noqa: E402
from bench.contenders.fleet import AHEAD_SECONDS, CYCLES, INTERVAL, PROJECT, REGION, WATCH_SECONDS  # noqa: E402
from tests.support import redis  # noqa: E402

COUNT = int(os.environ.get("BENCH_JOBS", "10000"))
CREATORS = 4
ROUNDS = 3
ENOUGH_SECONDS = 120
"""No further round starts after this."""
MAX_SECONDS = 345
"""The race is stopped after this."""
ENDS = time.monotonic() + MAX_SECONDS
JOBS = f"/v1/projects/{PROJECT}/locations/{REGION}/customJobs"
CHANGES_PER_SECOND = 5.0
QUOTA = 600


class Cloud:
    """The emulator in its own process, with scripted long jobs and a clock that this program advances."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.names: list[str] = []

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """Send a request and return its JSON, or None if it is refused."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError:
            return None

    def fill(self) -> float:
        """Create the jobs and start all of them. Return the duration."""
        body = json.loads((ROOT / "bench/contenders/job.json").read_text())
        labels = body["labels"] | {"trainboard_instance": "bench"}
        began = time.perf_counter()

        def create(number: int) -> str:
            whole = body | {"displayName": f"job {number}", "labels": labels | {"trainboard_job": f"{number:032x}"}}
            return str(self.call("POST", JOBS, whole)["name"])

        with ThreadPoolExecutor(CREATORS) as pool:
            self.names = list(pool.map(create, range(COUNT)))
        self.call("POST", "/_emulator/clock", {"now": time.time() + AHEAD_SECONDS})
        return time.perf_counter() - began

    def calls(self) -> dict[str, int]:
        """Return the number of calls of each method."""
        told = self.call("GET", f"/_emulator/truth?job={self.names[0]}")["calls"]
        return {name: count for name, count in told.items() if name.startswith("customJobs")}


@contextmanager
def emulator(folder: Path) -> Iterator[Cloud]:
    """Run the emulator on a free port."""
    command = [sys.executable, "-m", "emulator", "--port", "0", "--state", str(folder), "--scripted"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield Cloud(found[0])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def run(program: str, *arguments: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    """Start a contender."""
    command = [sys.executable, str(ROOT / "bench/contenders" / program), *arguments]
    more = {"PYTHONPATH": str(ROOT), "NO_GCE_CHECK": "true"} | environment
    return subprocess.Popen(command, env=os.environ | more, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def result(contender: "subprocess.Popen[str]") -> Any:
    """Wait for a contender, up to a limit, and parse the last line of its output as JSON."""
    try:
        printed, _ = contender.communicate(timeout=max(ENDS - time.monotonic(), 1))
    except subprocess.TimeoutExpired:
        contender.kill()
        contender.wait()
        sys.exit(f"stopped after {MAX_SECONDS} s: this machine is too busy to measure anything")
    if contender.returncode:
        sys.exit(f"{contender.args} failed with {contender.returncode}")
    return json.loads(printed.strip().splitlines()[-1])


def disturb(cloud: Cloud, until: threading.Event) -> int:
    """Preempt and cancel jobs in turns while advancing the emulator's clock in real time. Return the number."""
    dice, names = random.Random(5), list(cloud.names)
    dice.shuffle(names)
    began, count = time.time(), 0
    while not until.wait(0.1):
        cloud.call("POST", "/_emulator/clock", {"now": time.time() + AHEAD_SECONDS})
        while count < (time.time() - began) * CHANGES_PER_SECOND:
            name, count = names.pop(), count + 1
            if count % 4:
                cloud.call("POST", "/_emulator/preempt", {"job": name})
            else:
                cloud.call("POST", f"/v1/{name}:cancel", {})
    return count


# ---------------------------------------------------------------- the three measurements
def race(cloud: Cloud, folder: str, environment: dict[str, str]) -> list[Figure]:
    """Observe all jobs as fast as each side can, in turns. The result is the median of the ratios of the rounds.

    A round on a busy machine affects all sides, and hardly affects CPU time.
    """
    rounds: list[dict[str, dict[str, float]]] = []
    began = time.monotonic()
    while len(rounds) < ROUNDS and not (rounds and time.monotonic() - began > ENOUGH_SECONDS):
        told = {"ours": result(run("watcher.py", "race", cloud.url, folder, environment=environment))}
        if not rounds:
            calls = cloud.calls()["customJobs.list"] / (CYCLES + 2)  # one to warm up, one that writes the rows
        for verb in ("get", "list"):
            told[verb] = result(run("poller.py", verb, cloud.url, environment={}))
        rounds.append(told)

    def middle(of: str, side: str) -> float:
        return statistics.median(told[side][of] for told in rounds)

    def faster(than: str) -> float:
        return statistics.median(told["ours"]["jobs_per_second"] / told[than]["jobs_per_second"] for told in rounds)

    def lighter(than: str) -> float:
        return statistics.median(told[than]["cpu_ms"] / told["ours"]["cpu_ms"] for told in rounds)

    speed = middle("jobs_per_second", "ours")
    return [
        Figure(f"ours: jobs observed, {COUNT:,} active, nothing new", speed, "/s"),
        Figure("  time of a full cycle", COUNT / speed, "s"),
        Figure("  CPU time of a job", middle("cpu_ms", "ours"), "ms"),
        Figure("SDK, one get for each job: jobs observed", middle("jobs_per_second", "get"), "/s"),
        Figure("  CPU time of a job", middle("cpu_ms", "get"), "ms"),
        Figure("SDK, list: jobs observed", middle("jobs_per_second", "list"), "/s"),
        Figure("  CPU time of a job", middle("cpu_ms", "list"), "ms"),
        Figure(f"ours is faster than the SDK's get, {len(rounds)} rounds", faster("get"), "times", 20, is_rate=True),
        Figure("  and needs less CPU time", lighter("get"), "times", 20, is_rate=True),
        Figure(f"ours is faster than the SDK's list, {len(rounds)} rounds", faster("list"), "times", 5, is_rate=True),
        Figure("  and needs less CPU time", lighter("list"), "times", 5, is_rate=True),
        Figure("ours: API calls of a full cycle", calls, "calls", COUNT / 100),
        Figure("  the SDK's get needs more, even with one call for each job", COUNT / calls, "times", 20, is_rate=True),
    ]


def scale(cloud: Cloud, folder: str, environment: dict[str, str]) -> list[Figure]:
    """Measure one worker with a stream of changes."""
    before = cloud.calls()
    contender = run("watcher.py", "scale", cloud.url, folder, environment=environment)
    assert contender.stdout is not None
    contender.stdout.readline()
    ended = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        changes = pool.submit(disturb, cloud, ended)
        try:
            ours = result(contender)
        finally:
            ended.set()
        count = changes.result()
    after = cloud.calls()
    reads = sum(after[name] - before.get(name, 0) for name in ("customJobs.list", "customJobs.get") if name in after)
    return [
        Figure(f"one worker, {count} disturbances: changes recorded", ours["changes"], ""),
        Figure("  delay from change to event, median", ours["p50_seconds"], "s"),
        Figure("  delay from change to event, p95", ours["p95_seconds"], "s", INTERVAL.total_seconds() + 2),
        Figure("  slowest cycle", ours["slowest_cycle_seconds"], "s"),
        Figure("  memory of the worker", ours["rss_mb"], "MB", 250),
        Figure("  calls a minute", reads * 60 / WATCH_SECONDS, "calls", QUOTA),
    ]


def submissions(cloud: Cloud, folder: str, environment: dict[str, str]) -> list[Figure]:
    """Measure submissions without a rate limit, listed next to Google's own limit for a region."""
    ours = result(run("watcher.py", "submit", cloud.url, folder, environment=environment))
    return [
        Figure("requests written, one thread", ours["requests_per_second"], "/s"),
        Figure("submissions until the answer is recorded, one thread", ours["submits_per_second"], "/s"),
        Figure("  CPU time of one", ours["cpu_ms"], "ms"),
        Figure(
            "  the four threads of one worker; Google allows one a second",
            ours["submits_per_second_together"], "/s", 1, is_rate=True,
        ),
        Figure("turn of a team's first job behind 100 of another team", ours["turn"], "", 1),
    ]  # fmt: skip


def main() -> int:
    """Measure everything. Return 1 if a limit is missed."""
    with (
        tempfile.TemporaryDirectory() as folder,
        redis.running("embedded") as broker,
        emulator(Path(folder) / "emulator") as cloud,
    ):
        print(f"{COUNT:,} jobs created in {cloud.fill():.0f} s")
        figures: list[Figure] = []
        for part in (race, scale, submissions):
            figures += part(cloud, folder, {"REDIS_URL": broker})
    return tell(figures)


if __name__ == "__main__":
    sys.exit(main())
