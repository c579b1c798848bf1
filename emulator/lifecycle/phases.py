"""The phases of a custom job's life and their transitions."""

import math
from collections.abc import Callable

from emulator.lifecycle import exits, messages
from emulator.lifecycle.endings import Endings
from emulator.lifecycle.interfaces import Capacity, Observer, ReplicaRunner
from emulator.lifecycle.runtime import Runtime
from emulator.lifecycle.scripts import script_of
from emulator.lifecycle.times import MIN_START_SECONDS, provisional_start
from emulator.protocol.documents import Document
from emulator.protocol.timestamps import format_second, format_time, parse_duration, parse_time
from emulator.state.records import Job, Phase

DEFAULT_TIMEOUT = "604800s"
CHECK_TRIAL_SECONDS = 1.0


class Phases:
    """Moves jobs between phases, without saving the record: `Engine` saves it.

    `runner_of` returns the runner of a job's replicas. `reclaim_after` are seconds of running after which the first,
    second, ... attempt of every Spot job is reclaimed; 0 = not. `start_after_restart` is what `startTime` shows after a
    restart: the "first" settled start, or the "last" one and a provisional one meanwhile.
    """

    def __init__(
        self,
        runtime: Runtime,
        capacity: Capacity,
        runner_of: Callable[[Job], ReplicaRunner],
        observer: Observer,
        reclaim_after: tuple[float, ...],
        start_after_restart: str,
    ) -> None:
        self.runtime, self._timers, self._times = runtime, runtime.timers, runtime.times
        self.capacity, self.runner_of, self.observer = capacity, runner_of, observer
        self._reclaim_after = reclaim_after
        self.start_after_restart = start_after_restart
        self.endings = Endings(runtime, capacity, observer, machines_freed=self.admit_waiting)
        self.waiting: dict[str, Job] = {}
        """Jobs that wait for machines or quota, in order."""

    def next(self, job: Job) -> None:
        """Continue when the time of a phase is over."""
        match job.phase:
            case Phase.QUEUED:
                self.admit(job)
            case Phase.PROVISIONING:
                self._launch(job)
            case Phase.STARTING:
                self.run(job)
            case Phase.STOPPING if job.running_replicas:
                for replica in job.running_replicas:
                    self.runner_of(job).kill(job, replica)
            case Phase.STOPPING:
                self.after_stop(job)
            case Phase.TEARDOWN:
                if job.outcome is None or job.outcome["state"] != "JOB_STATE_FAILED":
                    self.runtime.log(job, messages.TEARING_DOWN)
                self._enter(job, Phase.CLEANING, self._times.teardown)
            case Phase.CLEANING:
                self.endings.end(job)
            case Phase.REPORTING:
                self.endings.publish_error(job)

    def _enter(self, job: Job, phase: Phase, service_seconds: float) -> None:
        """Enter a phase that takes `service_seconds` at speed 1."""
        job.phase = phase
        self._timers.set(job, "phase", self._times.scaled(service_seconds))

    def _set_pending(self, job: Job) -> None:
        if job.state != "JOB_STATE_PENDING":
            self.runtime.set_state(job, "JOB_STATE_PENDING")

    # ------------------------------------------------------------ up to RUNNING
    def admit(self, job: Job) -> None:
        """Request machines. Without any, the job waits, is retried later or fails."""
        allocation = self.capacity.allocate(job)
        match allocation.answer:
            case "wait" | "wait-pending":
                self.waiting[job.name] = job
                if allocation.answer == "wait-pending" and job.state == "JOB_STATE_QUEUED":
                    self._set_pending(job)
            case "stockout":
                self._handle_stockout(job)
            case "never":
                self._timers.cancel(job, "give-up")
                self.endings.finish(job, allocation.outcome or messages.internal())
            case _:
                self._timers.cancel(job, "give-up")
                job.holds_capacity = True
                self._set_pending(job)
                own = script_of(job).provisioning_seconds
                usual = 0 if allocation.is_ready else self._times.provisioning
                self._enter(job, Phase.PROVISIONING, usual if own is None else own)

    def admit_waiting(self) -> None:
        """Let the waiting jobs request machines again, in order, because some may be free."""
        waiting, self.waiting = list(self.waiting.values()), {}
        for job in waiting:
            self.admit(job)
            self.runtime.store.save(job)

    def _handle_stockout(self, job: Job) -> None:
        """Retry a job without machines later as a new attempt, or let it fail."""
        job.stockouts += 1
        self._set_pending(job)
        outcome = messages.stockout(job.location)
        if not exits.may_restart(job):
            self.endings.finish(job, outcome)
            return
        self.endings.log_error(job, outcome)
        job.attempt += 1
        self.runtime.log_provisioning(job)
        self._enter(job, Phase.QUEUED, self._times.stockout_retry)

    def _launch(self, job: Job) -> None:
        """Start every replica, unless an image cannot be pulled. User code may run from here on."""
        error = self.runner_of(job).start_error(job)
        if error is not None:
            self.endings.finish(job, error)
            return
        job.machines, job.worker_restarts = dict.fromkeys(job.replica_names, job.hosts), {}
        self.start_all(job)

    def start_all(self, job: Job) -> None:
        """Start every replica, not before the first second that `startTime` may show."""
        if self.runtime.clock.now() < _first_second(job):
            job.phase = Phase.PROVISIONING
            self._timers.set_at(job, "launch", _first_second(job))
            return
        self._enter(job, Phase.STARTING, self._times.starting)
        for replica in job.replica_names:
            self.start(job, replica)

    def start(self, job: Job, replica: str) -> None:
        """Start one replica."""
        job.replicas[replica] = "running"
        self.runner_of(job).start(job, replica)

    def run(self, job: Job) -> None:
        """Enter RUNNING, because all replicas have started."""
        job.phase = Phase.RUNNING
        self._timers.cancel(job, "phase")
        job.runs_since = now = self.runtime.clock.now()
        settled = max(math.floor(now - self._times.scaled(self._times.visible)), _first_second(job))
        job.first_start = job.first_start or settled
        if "." in job.document.get("startTime", "."):  # it is provisional
            job.document["startTime"] = format_second(settled)
        if "timeout" not in job.timers:
            timeout = parse_duration(job.scheduling.get("timeout", DEFAULT_TIMEOUT))
            self._timers.set_at(job, "timeout", now + timeout)
        self.runtime.set_state(job, "JOB_STATE_RUNNING")
        self.runtime.log(job, messages.RUNNING)
        if job.trial:
            self._timers.set(job, "watch", CHECK_TRIAL_SECONDS)
        self.observer.job_started(job)
        if job.strategy == "SPOT":
            has_plan = not job.script and job.preemptions < len(self._reclaim_after)
            planned = self._reclaim_after[job.preemptions] if has_plan else 0.0
            if seconds := planned or self.capacity.reclaim_seconds(job):
                self._timers.set(job, "reclaim", seconds)

    # ------------------------------------------------------------ down from RUNNING
    def apply(self, job: Job, replica: str, decision: exits.Decision) -> None:
        """Apply the decision about a replica that has ended."""
        action, outcome = decision
        if action == "nothing":
            return
        if job.phase == Phase.STARTING:
            self.run(job)
        if action == "permanent":
            job.outcome = outcome
            self._timers.set(job, "end", self._times.scaled(self._times.exit_report))
            self.restart_later(job, replica)
            return
        if outcome and "error" in outcome:
            self.endings.log_error(job, outcome)
        if action in ("worker", "restart"):
            job.worker_restarts[replica] = job.worker_restarts.get(replica, 0) + 1
        if action == "worker":
            self.restart_later(job, replica)
        elif action == "restart":
            self.stop(job, "restart")
        elif action == "retry":
            job.retries += 1
            self.stop(job, "requeue")
        else:
            self.stop(job, "teardown", outcome)

    def fail(self, job: Job, outcome: Document, *, may_retry: bool = False) -> None:
        """Stop a job after a failure and log it. Queue the job again if it may be retried."""
        self.endings.log_error(job, outcome)
        if may_retry:
            self.stop(job, "requeue")
        else:
            self.stop(job, "teardown", outcome)

    def restart_later(self, job: Job, replica: str) -> None:
        """Restart a replica with the same host name after a short while."""
        job.replicas[replica] = "waiting"
        self._timers.set(job, f"restart:{replica}", self._times.scaled(self._times.worker_restart))

    def stop(self, job: Job, then: str, outcome: Document | None = None) -> None:
        """End all replicas with a grace period, and then do `then`."""
        job.phase, job.then, job.outcome = Phase.STOPPING, then, outcome
        self._timers.cancel(job, "reclaim", "phase", "watch", "end", *(f"restart:{name}" for name in job.replicas))
        if then not in ("requeue", "restart"):
            self._timers.cancel(job, "timeout")
        for replica in job.running_replicas:
            self.runner_of(job).stop(job, replica)
        if job.phase == Phase.STOPPING and job.running_replicas:
            self._timers.set(job, "phase", self._times.stop_grace)
        elif job.phase == Phase.STOPPING:
            self.after_stop(job)

    def after_stop(self, job: Job) -> None:
        """Do `then` when no replica is left."""
        self._timers.cancel(job, "phase")
        job.replicas = dict.fromkeys(job.replicas, "exited")
        if job.then == "cancelled" and script_of(job).wins_over_cancel:
            job.then, job.outcome = "teardown", messages.SUCCESS
        if job.then == "restart":
            self._wait_again(job)
            self.start_all(job)
        elif job.then == "requeue":
            self.endings.release(job)
            job.hosts += 1
            self._wait_again(job)
            self.runtime.log_provisioning(job)
            self._enter(job, Phase.QUEUED, self._times.job_retry)
        elif job.then == "cancelled":
            job.outcome = job.outcome or messages.cancelled()
            self.endings.end(job)
        else:
            self._enter(job, Phase.TEARDOWN, self._times.noticing)

    def _wait_again(self, job: Job) -> None:
        """Return to PENDING. `startTime` keeps its value, or is provisional again (not known, so both can be set)."""
        job.attempt += 1
        job.waits_since = self.runtime.clock.now()
        if (script_of(job).start_after_restart or self.start_after_restart) == "last":
            job.document["startTime"] = format_time(provisional_start(job.name, job.waits_since))
        self.runtime.set_state(job, "JOB_STATE_PENDING")


def _first_second(job: Job) -> int:
    """Return the earliest settled start of an attempt, a whole second."""
    created = parse_time(job.document["createTime"])
    return math.ceil(max(created + MIN_START_SECONDS, job.waits_since))
