"""Scripts: the events of a job without processes, for tests with a settable clock.

The state of such a job follows from its script and the clock. `scenarios.script_rules` chooses the script of a job and
`scenarios.script_runner` runs its replicas.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from emulator.state.records import Job


@dataclass(frozen=True, kw_only=True)
class Script:
    """The events of a job. Times are seconds of the clock."""

    summary: str = ""
    run_seconds: float = 600.0
    exit_code: int = 0
    failures: int = 1_000
    """How many attempts end with `exit_code` before one succeeds."""
    exit_seconds: float = 30.0
    """How long a replica runs before it ends with `exit_code`."""
    queue_seconds: float | None = None
    """How long the job waits before machines are requested: in PENDING, or with `waits_in_queue` in QUEUED."""
    provisioning_seconds: float | None = None
    waits_in_queue: bool = False
    start_after_restart: str = ""
    """What `startTime` shows after a restart, "first" or "last" (lifecycle.engine); "" = the emulator's setting."""
    preempt_after: Sequence[float] = ()
    evictions: int = 0
    """How often the primary replica is evicted, each time after `exit_seconds`."""
    events: tuple[tuple[float, str], ...] = ()
    """Events while the first attempt runs: (seconds, "move", "break", "strange" or "usual")."""
    capacity: str = "real"
    """"real" capacity, a "stockout", or insufficient quota: "refused" at the create call or failing later ("quota")."""
    image_is_missing: bool = False
    error_seconds: float = 0.0
    """How long after the end of the job its error becomes public."""
    ignores_term: bool = False
    wins_over_cancel: bool = False


SCRIPTS: dict[str, Script] = {
    "happy": Script(summary="Queues, is provisioned, runs ten minutes, succeeds."),
    "short": Script(summary="Like happy, but runs one second.", run_seconds=1),
    "long": Script(summary="Like happy, but runs for 30 days, unless its timeout ends it.", run_seconds=2_592_000),
    "slow-queue": Script(summary="Waits two hours in QUEUED, then happy.", queue_seconds=7_200, waits_in_queue=True),
    "stockout": Script(summary="Gets no machines in any retry, then fails with STOCKOUT.", capacity="stockout"),
    "preempted": Script(summary="Reclaimed after 120 s, twice, then happy.", preempt_after=(120, 120)),
    "preempted-once": Script(summary="Reclaimed after 20 s, then runs one second.", preempt_after=(20,), run_seconds=1),
    "always-preempted": Script(summary="Reclaimed after 60 s each time, until it fails.", preempt_after=(60,) * 7),
    "quota": Script(summary="Refused on create: 429 with the quota metrics.", capacity="refused"),
    "quota-fails": Script(summary="Accepted, then fails on quota.", capacity="quota"),
    "fails": Script(summary="Exit 1: FAILED, but its container may start once more before that.", exit_code=1),
    "evicted": Script(summary="Evicted twice, started again on its machine, then happy.", evictions=2),
    "always-evicted": Script(
        summary="Evicted every 30 s: five restarts of the worker in each of four attempts, then FAILED.",
        evictions=1_000,
    ),
    "segfault": Script(summary="Exit 139 every time: three retries of the job, then FAILED.", exit_code=139),
    "oom": Script(summary="Killed for memory: FAILED at once.", exit_code=137),
    "late-error": Script(summary="Like oom, but its error follows a minute later.", exit_code=137, error_seconds=60),
    "image": Script(summary="The image cannot be pulled: FAILED.", image_is_missing=True),
    "internal": Script(summary="Internal error three times: FAILED.", events=((60, "break"),)),
    "maintenance": Script(summary="Its worker is moved once, then happy.", events=((120, "move"),)),
    "stubborn": Script(summary="Ignores SIGTERM: a cancellation takes the whole grace period.", ignores_term=True),
    "cancel-races": Script(summary="Ends with success while it is being cancelled.", wins_over_cancel=True),
    "command": Script(summary="Sleeps and exits as its shell program says: sleep 20; exit 134. No image, no start."),
    "strange": Script(
        summary="Shows an undocumented state for a minute, then happy.",
        events=((60, "strange"), (120, "usual")),
    ),
}


NO_SCRIPT = Script()
TIMES = ("queue_seconds", "provisioning_seconds", "run_seconds", "exit_seconds", "preempt_after")
"""The times of a script that a rule may replace. Besides, it may set `start_after_restart`."""
START_AFTER_RESTART = "start_after_restart"
STARTS = ("first", "last")
MAX_PREEMPTIONS = 100


def script_of(job: Job) -> Script:
    """Return the script of a job with the job's times, or one without events for a job that runs as processes."""
    if not job.script:
        return NO_SCRIPT
    script = _follow_command(job) if job.script == "command" else SCRIPTS[job.script]
    return replace(script, **job.script_times)


def _follow_command(job: Job) -> Script:
    """Return the script that the first `sleep` and `exit` of the primary's shell program describe.

    A container without a command has an image that cannot be pulled, as it would without scripts.
    """
    container = job.worker_pools[0][1].get("containerSpec", {})
    program = " ".join([*container.get("command", []), *container.get("args", [])])
    slept, exited = re.search(r"\bsleep (\d{1,7})\b", program), re.search(r"\bexit (\d{1,3})\b", program)
    seconds = float(slept[1]) if slept else 1.0
    code = int(exited[1]) if exited else 0
    return Script(run_seconds=seconds, exit_seconds=seconds, exit_code=code, image_is_missing=not program)


def check_times(times: Mapping[str, Any]) -> None:
    """Raise ValueError for names that are not times of a `Script`, and for values that are not numbers of seconds."""
    times = dict(times)
    if times.pop(START_AFTER_RESTART, "first") not in STARTS:
        raise ValueError(f"{START_AFTER_RESTART} must be one of {', '.join(STARTS)}.")
    if unknown := set(times) - set(TIMES):
        raise ValueError(f"A script has no time {', '.join(sorted(unknown))}; its times are {', '.join(TIMES)}.")
    for name, value in times.items():
        if name != "preempt_after":
            _check_seconds(name, value)
        elif not isinstance(value, list) or len(value) > MAX_PREEMPTIONS:
            raise ValueError(f"preempt_after must be a list of at most {MAX_PREEMPTIONS} numbers of seconds.")
        else:
            for each in value:
                _check_seconds(name, each)


def _check_seconds(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of seconds, at least 0; got {value!r}.")
