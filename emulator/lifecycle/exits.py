"""Decide what the end of a replica means for its job. Pure: it only reads the record."""

from emulator.lifecycle import messages
from emulator.lifecycle.interfaces import Exit
from emulator.lifecycle.times import (
    MAX_JOB_RETRIES,
    MAX_SPOT_RESTARTS,
    MAX_STOCKOUT_RETRIES,
    MAX_WORKER_RESTARTS,
    OUT_OF_MEMORY_EXITS,
    START_ERROR_EXIT,
    TRANSIENT_EXITS,
)
from emulator.protocol.documents import Document
from emulator.state.records import PRIMARY, Job

Decision = tuple[str, Document | None]


def decide_exit(job: Job, replica: str, how: Exit) -> Decision:
    """Decide what follows an exit.

    1. Status 0: the primary's ends the job as "success"; any other replica is done ("nothing").
    2. Out of memory, and a container that cannot start, are "end".
    3. SIGABRT and SIGSEGV lead to a "retry" of the whole job, three times, then "end".
    4. Any other status is an error of the user's code: "permanent". The container may start once more before the
       service ends the job (not with `disableRetries`, which is unconfirmed).

    Every decision about a failed replica contains the error. The service logs it each time (unconfirmed for ends that
    Vertex AI repairs by itself), and it becomes the job's error when no retry is left.
    """
    if how.code == 0:
        return ("success", messages.SUCCESS) if replica == PRIMARY else ("nothing", None)
    if how.code in OUT_OF_MEMORY_EXITS:
        return "end", messages.out_of_memory(replica)
    error = messages.exited(replica, how.code, how.reason, how.tail)
    if (how.code == START_ERROR_EXIT and how.reason == "StartError") or job.scheduling.get("disableRetries"):
        return "end", error
    if how.code in TRANSIENT_EXITS:
        return ("retry" if job.retries < MAX_JOB_RETRIES else "end"), error
    return "permanent", error


def decide_eviction(job: Job, replica: str) -> Decision:
    """Decide what follows an eviction, a lost node or a failed health check, which are not permanent errors.

    The "worker" restarts five times. Then the job is retried three times ("retry"), then "end". With
    `restartJobOnWorkerRestart`, a worker restart is a "restart" of all replicas.
    """
    error = messages.evicted(replica)
    if job.scheduling.get("disableRetries"):
        return "end", error
    if job.worker_restarts.get(replica, 0) < MAX_WORKER_RESTARTS:
        return ("restart" if job.scheduling.get("restartJobOnWorkerRestart") else "worker"), None
    return "retry" if job.retries < MAX_JOB_RETRIES else "end", error


def may_restart(job: Job) -> bool:
    """Return whether a job that lost its machines or found none may restart. Under Spot both share one limit."""
    if job.strategy == "SPOT":
        return job.preemptions + job.stockouts <= MAX_SPOT_RESTARTS
    return job.stockouts <= MAX_STOCKOUT_RETRIES
