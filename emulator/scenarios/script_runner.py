"""Run the replicas of jobs with a script, with timers instead of processes."""

from emulator.lifecycle import messages
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.interfaces import Exit
from emulator.lifecycle.scripts import script_of
from emulator.protocol.documents import Document
from emulator.state.records import PRIMARY, Job, Phase

EXIT_ON_TERM = 143
TERM_SECONDS = 2.0
ERROR = "RuntimeError: the script says so"


class ScriptRunner:
    """Implements `lifecycle.interfaces.ReplicaRunner`. Its timers are `script:...` in the job's record."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._runtime, self._timers = engine, engine.runtime, engine.runtime.timers

    def start_error(self, job: Job) -> Document | None:
        """Return the pull error if the script has one."""
        image = job.worker_pools[0][1].get("containerSpec", {}).get("imageUri", "")
        return messages.image_denied(image, job.project) if script_of(job).image_is_missing else None

    def start(self, job: Job, replica: str) -> None:
        """Let the replica run as long as the script defines."""
        script = script_of(job)
        self._runtime.log(job, "Training has started.", task=replica)
        if replica != PRIMARY:
            return
        if job.preemptions < len(script.preempt_after):
            self._timers.set(job, "script:preempt", script.preempt_after[job.preemptions])
            return
        if sum(job.worker_restarts.values()) + job.retries < script.evictions:
            self._timers.set(job, "script:evict", script.exit_seconds)
            return
        fails = script.exit_code and job.retries < script.failures
        self._timers.set(job, f"script:{replica}", script.exit_seconds if fails else script.run_seconds)
        for seconds, event in script.events:
            if event == "break" or (job.attempt == 1 and job.hosts == 1):
                self._timers.set(job, f"script:{event}", seconds)

    def stop(self, job: Job, replica: str) -> None:
        """End the replica two seconds after SIGTERM."""
        if not script_of(job).ignores_term:
            self._timers.set(job, f"script:{replica}", TERM_SECONDS)
        else:
            self._timers.cancel(job, f"script:{replica}")

    def kill(self, job: Job, replica: str) -> None:
        """End the replica now."""
        self._engine.exited(job, replica, Exit(messages.EXIT_ON_KILL))

    def fire(self, job: Job, key: str) -> None:
        """Handle a due timer `script:KEY`: an event, or the end of a replica."""
        event = {
            "preempt": self._engine.preempt,
            "move": self._engine.move,
            "evict": self._engine.evict,
            "break": self._engine.fail_internally,
        }.get(key)
        if event is not None and job.has_started:
            event(job)
        elif key in ("strange", "usual") and job.phase == Phase.RUNNING:
            self._runtime.set_state(job, "JOB_STATE_REBALANCING" if key == "strange" else "JOB_STATE_RUNNING")
        elif key in job.replicas:
            self._end(job, key)
        self._runtime.store.save(job)

    def _end(self, job: Job, replica: str) -> None:
        script = script_of(job)
        if job.phase == Phase.STOPPING or job.replicas[replica] in ("moving", "evicted"):
            self._engine.exited(job, replica, Exit(EXIT_ON_TERM))
        elif script.exit_code and job.retries < script.failures:
            self._runtime.log(job, ERROR, severity="ERROR", task=replica)
            self._engine.exited(job, replica, Exit(script.exit_code, "Error", ERROR))
        else:
            self._runtime.log(job, "epoch 1: loss 0.5", task=replica)
            self._runtime.log(job, "Training has ended.", task=replica)
            self._engine.exited(job, replica, Exit(0))
