"""What the end of a replica means for its job. Pure: reads the record, changes nothing."""

from emulator.lifecycle import words
from emulator.lifecycle.stage import Exit
from emulator.lifecycle.times import JOB_RETRIES, KILLED, START_ERROR, TRANSIENT_EXITS, WORKER_RESTARTS
from emulator.protocol.documents import Document
from emulator.state.records import Job

PRIMARY = "workerpool0-0"
Verdict = tuple[str, Document | None]


def alive(job: Job) -> list[str]:
    """Return the replicas that run."""
    return [name for name, state in job.replicas.items() if state in ("running", "moving")]


def judge(job: Job, replica: str, how: Exit) -> Verdict:
    """Decide what follows from an exit.

    1. Status 0: the primary's ends the job as "success"; any other replica is just done ("nothing").
    2. Permanent errors (killed for memory, could not start) are "over".
    3. SIGABRT and SIGSEGV are worth a "retry" of the job.
    4. Any other status is worth a "worker" restart, five times, then a "retry", three times, then "over".
    With `restartJobOnWorkerRestart` a worker restart is a "restart" of all replicas. With `disableRetries`
    nothing is tried again. The error comes with every verdict on a failed replica: the service logs it each time
    (unconfirmed for ends that Vertex AI repairs by itself), and the job takes it over when nothing is left to try.
    """
    if how.code == 0:
        return ("success", words.SUCCESS) if replica == PRIMARY else ("nothing", None)
    if how.code in KILLED:
        return "over", words.out_of_memory(replica)
    error = words.exited(replica, how.code, how.reason, how.tail)
    if how.code == START_ERROR and how.reason == "StartError":
        return "over", error
    if job.scheduling.get("disableRetries"):
        return "over", error
    if how.code not in TRANSIENT_EXITS and job.worker_restarts.get(replica, 0) < WORKER_RESTARTS:
        return ("restart" if job.scheduling.get("restartJobOnWorkerRestart") else "worker"), error
    return "retry" if job.retries < JOB_RETRIES else "over", error
