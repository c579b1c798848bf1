"""How light `manage.py up` is: a cold and a warm start, the memory of its processes, and what an idle site uses.

Run as a script. Processor seconds are those of all processes of the site until it prints its address. They, unlike the
time by the clock, hardly depend on what else runs. Memory is the proportional set size (Linux), which counts a shared
page once. BENCH_IDLE is the number of seconds for which an idle site is observed (60).
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench._http import free_port  # noqa: E402
from bench._table import Figure, tell  # noqa: E402
from tests.support import migrated, stack  # noqa: E402
from tests.support.stack import Stack  # noqa: E402

IDLE_SECONDS = float(os.environ.get("BENCH_IDLE", "60"))
SETTLING_SECONDS = 20.0
"""What a site does after its start, such as its first sweeps, is no idling."""


def cpu_seconds(*processes: psutil.Process) -> float:
    """Return the processor time that processes have used, with that of their children that ended."""
    times = [each.cpu_times() for each in processes]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def start(site: Stack, what: str, most: float) -> Iterator[Figure]:
    """Start a site; yield the time by the clock and the processor time until it printed its address."""
    began = time.monotonic()
    site.start()
    yield Figure(f"{what} start", time.monotonic() - began, "s", most)
    yield Figure(f"{what} start, processor time", cpu_seconds(*site.family()), "s")


def idle(site: Stack) -> Iterator[Figure]:
    """Observe a running site that has nothing to do; yield its memory and its share of a core, and each process's."""
    time.sleep(SETTLING_SECONDS)
    family = site.family()
    memory = {each: each.memory_full_info().pss / 2**20 for each in family}
    before = {each: cpu_seconds(each) for each in family}
    time.sleep(IDLE_SECONDS)
    used = {each: 100 * (cpu_seconds(each) - before[each]) / IDLE_SECONDS for each in family}
    yield Figure(f"memory of {len(family)} processes (PSS)", sum(memory.values()), "MB", 350)
    yield Figure("an idle site, of one core", sum(used.values()), "%", 2)
    for each in family:
        command = " ".join(each.cmdline()[1:])[:52]
        yield Figure(f"  {command}", memory[each], "MB")
        yield Figure(f"  {command}", used[each], "%")


def main() -> int:
    """Start a site with an empty state folder, start it again, and observe it."""
    with tempfile.TemporaryDirectory(prefix="tb-start-", dir="/tmp") as name:
        Path(name, migrated.DATABASE).touch()  # an empty database: a cold start applies the migrations
        stack.START_SECONDS = 600  # a busy machine is measured by its processor time
        site = Stack(Path(name), free_port())
        try:
            figures = list(start(site, "cold", 8))
            site.stop()
            figures += [*start(site, "warm", 2.5), *idle(site)]
        finally:
            site.close()
    return tell(figures)


if __name__ == "__main__":
    sys.exit(main())
