"""What the processes of replicas really use of this machine's processors, from /proc. Elsewhere than on Linux nothing.

A replica's processes are those below its guard. The time of children that have ended counts with who waited for them.
"""

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 10.0
"""Between two samples; Cloud Monitoring has one a minute, but a rehearsal's jobs are short."""
MAX_SAMPLES = 5_000
"""Of all replicas together, the newest."""
PROC = Path("/proc")
FIRST_TIME, LAST_TIME = 11, 15
"""utime, stime, cutime and cstime among the fields behind the command's name (proc(5))."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The share of all processors, 0 to 1, that a replica used from `since` until `until`."""

    job: str
    """The job's whole name."""
    replica: str
    since: float
    until: float
    share: float


class Usage:
    """The newest samples of all replicas."""

    def __init__(self) -> None:
        self.samples: deque[Sample] = deque(maxlen=MAX_SAMPLES)

    def add(self, job: str, replica: str, *, since: float, until: float, seconds: float) -> None:
        """Take in that a replica used `seconds` of processor time between two moments."""
        cores = os.cpu_count() or 1
        share = seconds / max(until - since, 0.001) / cores
        self.samples.append(Sample(job, replica, since, until, min(max(share, 0.0), 1.0)))


def cpu_seconds(ancestor: int) -> float | None:
    """Return the processor time that a process and all below it have used; None where the system does not report it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            # The command's name stands in brackets, and may hold blanks and brackets (proc(5)).
            _, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(int(field) for field in fields[FIRST_TIME:LAST_TIME])
    if ancestor not in ticks:
        return None
    family = [ancestor]
    for pid in family:  # the list grows while it is walked
        family.extend(child for child, parent in parents.items() if parent == pid)
    return sum(ticks[pid] for pid in family) / os.sysconf("SC_CLK_TCK")
