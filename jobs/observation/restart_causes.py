"""Find what ended an attempt of a job, from the log lines of the attempt or else from the error of the job."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs import strategies
from jobs.diagnosis import diagnose, read_exits
from jobs.diagnosis.exits import NOT_PERMANENT, TRANSIENT
from jobs.models import Job, LogLine
from jobs.timeline import ATTEMPT_RUNS
from jobs.vertex.logs import SERVICE, TAKEN_AWAY

WORDS = {
    "preempted": "Compute Engine {}preempted the Spot VM, so Vertex AI restarts the job.",
    "stockout": "The region {}was out of capacity, so Vertex AI tries the job again.",
    "internal": "An internal error in Vertex AI {}ended the attempt, so Vertex AI restarts the job.",
    "job_retry": "A replica {}kept failing, so Vertex AI restarts the whole job.",
    "worker_restart": "A replica {}had to be restarted, so restartJobOnWorkerRestart restarts the whole job.",
    "unknown": "Vertex AI is preparing the job again and gave no reason for the restart.",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an attempt ended. `is_certain` means that a log line names the cause; otherwise it is the most likely one."""

    reason: str
    message: str
    is_certain: bool = True
    exit_code: int | None = None


def cause_of(job: Job, lines: Sequence[LogLine], *, has_run: bool, is_logged: bool) -> Cause:
    """Return why an attempt ended, from the last of the given log lines that names a cause.

    `has_run` means that Vertex AI reported the attempt as running. `is_logged` means that the log of the attempt is
    complete, up to the first line of the next one. Before that, a line about a lost machine may not be the last.
    """
    ran_from = max((place for place, line in enumerate(lines) if line.message == ATTEMPT_RUNS), default=None)
    has_run = has_run or ran_from is not None
    # What is logged while the attempt waits, such as a stockout for more than an hour, is no end of it.
    lines = lines if ran_from is None else lines[ran_from:]
    for line in reversed(lines):
        if line.message.startswith(TAKEN_AWAY):
            if not is_logged:
                return _likely(job, has_run=has_run)
            if is_spot(job):
                return _known("preempted")
            return _known("worker_restart" if _restarts_with_worker(job) else "unknown")
        if line.replica == SERVICE and line.severity == "ERROR":
            found = _of_message(job, line.message, has_run=has_run)
            if found is not None:
                return found
    return _likely(job, has_run=has_run)


def is_spot(job: Job) -> bool:
    """Return whether the job's machines may be preempted at any time."""
    strategy = strategies.STRATEGIES.get(job.strategy)
    return strategy is not None and strategy.preemptible


def _of_message(job: Job, message: str, *, has_run: bool) -> Cause | None:
    """Return the cause named in a log line of the service. Under Spot, STOCKOUT can also mean a preemption."""
    known = diagnose(None, message)
    cause = known.cause if known is not None else "unknown"
    if cause in {"stockout", "preempted"}:
        return _known("preempted" if is_spot(job) and has_run else "stockout")
    if cause == "internal":
        return _known("internal")
    ends = read_exits(message)[1]
    if not ends:
        return None
    end = ends[0]
    if end.reason.lower() in NOT_PERMANENT:
        return _known("job_retry")
    return Cause("job_retry", f"{end.words} Vertex AI restarts the whole job.", exit_code=end.code)


def _likely(job: Job, *, has_run: bool) -> Cause:
    """Return the most likely cause when no line names one, from the strategy or the error that ended the job."""
    reason = "unknown"
    if is_spot(job):
        reason = "preempted" if has_run else "stockout"
    elif job.error:
        message = str(job.error.get("message", ""))
        known = diagnose(job.error.get("code"), message)
        if known is not None and known.cause in {"stockout", "internal"}:
            reason = known.cause
        elif any(end.code in TRANSIENT for end in read_exits(message)[1]):
            reason = "job_retry"
    message = WORDS[reason].format("most likely ")
    return Cause(reason, message, is_certain=False)


def _known(reason: str) -> Cause:
    return Cause(reason, WORDS[reason].format(""))


def _restarts_with_worker(job: Job) -> bool:
    body = job.spec
    for name in ("trainingTaskInputs", "jobSpec", "trialJobSpec", "scheduling"):
        inner = body.get(name) if isinstance(body, dict) else None
        body = inner if isinstance(inner, dict) else body
    return isinstance(body, dict) and body.get("restartJobOnWorkerRestart") is True
