"""What the emulator knows about its jobs (`/_emulator/truth`), for comparison with what was observed."""

from datetime import datetime
from itertools import pairwise
from typing import Any

Span = tuple[datetime, datetime]


def machine_spans(life: dict[str, Any]) -> list[Span]:
    """Return the times in which the machines of an ended custom job ran.

    A run begins when the job reads RUNNING; the first at the settled start, which is known for it alone whatever
    `startTime` shows after a restart. The last one ends at `endTime`, before the job reads so.
    """
    moments = [(datetime.fromisoformat(each["at"]), each["state"]) for each in life["history"]]
    runs = [(at, end) for (at, state), (end, _) in pairwise(moments) if state == "JOB_STATE_RUNNING"]
    if runs:
        runs[0] = datetime.fromisoformat(life["firstStart"]), runs[0][1]
        if moments[-2][1] == "JOB_STATE_RUNNING" and "endTime" in life["document"]:
            runs[-1] = runs[-1][0], datetime.fromisoformat(life["document"]["endTime"])
    return runs
