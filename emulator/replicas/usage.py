"""Processor usage of the replicas' processes on this machine, from /proc. Not available on systems other than Linux.

A replica's processes are those below its guard. The time of ended children is counted for the process that waited for
them.
"""

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 10.0
"""Interval between samples. Cloud Monitoring has one per minute, but the jobs of a rehearsal are short."""
MAX_SAMPLES = 5_000
"""Maximum samples of all replicas together. The newest are kept."""
PROC = Path("/proc")
FIRST_TIME, LAST_TIME = 11, 15
"""utime, stime, cutime and cstime among the fields after the command's name (proc(5))."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The share of all processors, 0 to 1, that a replica used from `since` until `until`."""

    job: str
    """The job's full name."""
    replica: str
    since: float
    until: float
    share: float


class Usage:
    """The newest samples of all replicas."""

    def __init__(self) -> None:
        self.samples: deque[Sample] = deque(maxlen=MAX_SAMPLES)

    def add(self, job: str, replica: str, *, since: float, until: float, seconds: float) -> None:
        """Record that a replica used `seconds` of processor time between two times."""
        cores = os.cpu_count() or 1
        share = seconds / max(until - since, 0.001) / cores
        self.samples.append(Sample(job, replica, since, until, min(max(share, 0.0), 1.0)))


def cpu_seconds(ancestor: int) -> float | None:
    """Return the processor time of a process and its descendants, None if the system does not report it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            # The command's name is in parentheses and may contain blanks and parentheses (proc(5)).
            _, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(int(field) for field in fields[FIRST_TIME:LAST_TIME])
    if ancestor not in ticks:
        return None
    family = [ancestor]
    for pid in family:  # the list grows during the loop
        family.extend(child for child, parent in parents.items() if parent == pid)
    return sum(ticks[pid] for pid in family) / os.sysconf("SC_CLK_TCK")
