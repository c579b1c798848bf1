"""The engine: what can be done to a custom job, and what can happen to it.

QUEUED -> PROVISIONING -> STARTING -> RUNNING -> STOPPING -> TEARDOWN -> CLEANING -> ENDED -> (REPORTING) -> DONE
   ^-------------- retry, Spot restart -------------'

Clients see another order, as recorded in 2026: a new job is PENDING without `startTime`, 0.3 s later QUEUED with a
provisional one (createTime + 0.15 s), then PENDING again. When it runs, a whole second takes the place of the
provisional start, 10 to 13 s before the moment at which it reads RUNNING. A job that is cancelled while it waits keeps
the provisional one. What `startTime` shows after a restart is not known (`Phases.start_after_restart`).
"""

from emulator.lifecycle import exits, messages
from emulator.lifecycle.interfaces import Exit
from emulator.lifecycle.phases import CHECK_TRIAL_SECONDS, DEFAULT_TIMEOUT, Phases
from emulator.lifecycle.runtime import check_can_cancel
from emulator.lifecycle.scripts import script_of
from emulator.lifecycle.times import MAX_INTERNAL_RETRIES, MIN_PENDING_SECONDS, QUEUED_SECONDS, provisional_start
from emulator.protocol.errors import precondition
from emulator.protocol.timestamps import format_time, parse_time
from emulator.state.records import PRIMARY, Job, Phase

ON_PERSISTENT_RESOURCE_QUEUE_SECONDS = 1.0


class Engine:
    """Manages the life of every custom job. Its public methods save the record before they return."""

    def __init__(self, phases: Phases) -> None:
        self.runtime = runtime = phases.runtime
        self._store, self._timers, self._times = runtime.store, runtime.timers, runtime.times
        self._phases = phases
        self.admit_waiting = phases.admit_waiting

    # ------------------------------------------------------------ what clients and control calls ask for
    def submit(self, job: Job) -> None:
        """Accept a new job, which is PENDING until it is queued."""
        self.runtime.logs.open(job.id)
        self.runtime.set_state(job, "JOB_STATE_PENDING")
        job.document["createTime"] = job.document["updateTime"]
        self._timers.set(job, "queued", QUEUED_SECONDS)
        max_wait = self._phases.capacity.max_wait_seconds(job)
        if max_wait is not None:
            self._timers.set(job, "give-up", max_wait)
        self._store.add(job)

    def _queue(self, job: Job) -> None:
        """Queue a new job: it is QUEUED until machines are requested, or for two seconds if that comes later."""
        self.runtime.set_state(job, "JOB_STATE_QUEUED")
        created = parse_time(job.document["createTime"])
        job.document["startTime"] = format_time(provisional_start(job.name, created))
        self.runtime.log_provisioning(job)
        script = script_of(job)
        seconds = self._times.queue if script.queue_seconds is None else script.queue_seconds
        if "persistentResourceId" in job.spec:  # the resource has its own queue, and there is none before it
            seconds = min(seconds, ON_PERSISTENT_RESOURCE_QUEUE_SECONDS)
        wait, pending = self._times.scaled(seconds), self._times.scaled(self._times.queue)
        key = "phase" if wait > MIN_PENDING_SECONDS else "admit"
        self._timers.set_at(job, key, created + max(wait, MIN_PENDING_SECONDS))
        if seconds > self._times.queue and not script.waits_in_queue:
            self._timers.set_at(job, "pending", created + max(pending, MIN_PENDING_SECONDS))

    def cancel(self, job: Job) -> None:
        """Start to cancel a job, which may still end otherwise. Raise ApiError 400 if it has ended.

        One that waits reads as before until it is cancelled three seconds later (recorded 2026-07).
        """
        check_can_cancel(job)
        if job.state == "JOB_STATE_CANCELLING" or (job.phase == Phase.STOPPING and job.then == "cancelled"):
            return
        self._phases.waiting.pop(job.name, None)
        self._timers.cancel(job, "give-up")
        if job.phase in (Phase.QUEUED, Phase.PROVISIONING):
            self._timers.cancel(job, "queued", "admit", "pending", "preparing", "launch")
            job.phase, job.then = Phase.STOPPING, "cancelled"
            self._timers.set(job, "phase", self._times.scaled(self._times.cancel))
            self._store.save(job)
            return
        self.runtime.set_state(job, "JOB_STATE_CANCELLING")
        if job.has_started:
            self._phases.stop(job, "cancelled")
        elif job.phase == Phase.STOPPING and job.then in ("requeue", "restart"):
            job.then = "cancelled"
        self._store.save(job)

    def preempt(self, job: Job, replica: str = "") -> None:
        """Reclaim the machine of one replica, or of all: SIGTERM, a grace period, and a restart of the job on others.

        Raise ApiError 400 if the job is not running.
        """
        running = job.running_replicas
        self._check_runs(job, replica or PRIMARY)
        job.preemptions += 1
        for name in [replica] if replica else running:
            self.runtime.log(job, messages.TERMINATED, task=name)
        if exits.may_restart(job):
            self._phases.stop(job, "requeue")
        else:
            self._phases.fail(job, messages.stockout(job.location))
        self._store.save(job)

    def move(self, job: Job, replica: str = PRIMARY) -> None:
        """Move a replica to another machine with the same host name, as maintenance does.

        This does not count as a restart.
        """
        self._interrupt(job, replica, "moving")
        job.hosts += 1
        job.machines[replica] = job.hosts
        self._store.save(job)

    def evict(self, job: Job, replica: str = PRIMARY) -> None:
        """End a replica and restart it on its machine, at most five times; see `exits.decide_eviction`."""
        self._interrupt(job, replica, "evicted")
        self._store.save(job)

    def fail_internally(self, job: Job) -> None:
        """End an attempt with an internal error of the service. The job is tried three times in total."""
        job.breakdowns += 1
        may_retry = job.breakdowns <= MAX_INTERNAL_RETRIES and not job.scheduling.get("disableRetries")
        self._phases.fail(job, messages.internal(), may_retry=may_retry)
        self._store.save(job)

    def _check_runs(self, job: Job, replica: str) -> None:
        if not job.has_started or job.replicas.get(replica) not in ("running", "waiting"):
            raise precondition(f"The replica {replica} of {job.name} is not running.")

    def _interrupt(self, job: Job, replica: str, state: str) -> None:
        self._check_runs(job, replica)
        self.runtime.log(job, messages.TERMINATED, task=replica)
        was_running = job.replicas[replica] == "running"
        job.replicas[replica] = state
        if not was_running:
            self._after_interruption(job, replica)
            return
        self._phases.runner_of(job).stop(job, replica)
        if job.replicas[replica] == state:
            self._timers.set(job, f"kill:{replica}", self._times.stop_grace)

    def _after_interruption(self, job: Job, replica: str) -> None:
        """Continue with a replica that was moved or evicted and has ended."""
        was, job.replicas[replica] = job.replicas[replica], "exited"
        if was == "moving" or job.is_ending:
            self._phases.restart_later(job, replica)
        else:
            self._phases.apply(job, replica, exits.decide_eviction(job, replica))

    # ------------------------------------------------------------ what happens by itself
    def exited(self, job: Job, replica: str, how: Exit) -> None:
        """Handle a replica that has ended."""
        was = job.replicas.get(replica)
        if was not in ("running", "moving", "evicted"):
            return
        self._timers.cancel(job, f"script:{replica}", f"kill:{replica}")
        if job.phase == Phase.STOPPING:
            job.replicas[replica] = "exited"
            if not job.running_replicas:
                self._phases.after_stop(job)
        elif was != "running":
            self._after_interruption(job, replica)
        else:
            job.replicas[replica] = "exited"
            if not job.is_ending:
                self._phases.apply(job, replica, exits.decide_exit(job, replica, how))
        self._store.save(job)

    def resume(self, jobs: list[Job]) -> None:
        """Continue after a restart of the emulator.

        Timers are restored. Lost replicas restart as after maintenance.
        """
        for job in jobs:
            self._timers.restore(job)
            if job.phase == Phase.QUEUED and not {"phase", "queued", "admit"} & set(job.timers):
                self._timers.set(job, "phase", 0)
            if job.phase != Phase.DONE and not job.script:
                lost = job.running_replicas
                if job.phase == Phase.STOPPING and (lost or "phase" not in job.timers):
                    self._phases.after_stop(job)
                elif job.has_started:
                    # Its processes ended with the emulator, so the replicas restart on another host, as after
                    # maintenance.
                    job.hosts += 1
                    for replica in lost:
                        self.runtime.log(job, messages.TERMINATED, task=replica)
                        job.machines[replica] = job.hosts
                        self._phases.start(job, replica)
                self._store.save(job)

    def fire(self, job: Job, key: str) -> None:
        """Handle a due timer of a job."""
        kind, _, replica = key.partition(":")
        if kind in ("queued", "admit", "pending", "preparing", "launch"):
            self._begin(job, kind)
        elif kind == "publish":
            self._phases.endings.publish(job)
        elif kind == "phase":
            self._phases.next(job)
        elif kind == "timeout":
            self._time_out(job)
        elif kind == "reclaim" and job.phase == Phase.RUNNING:
            self.preempt(job)
        elif kind == "restart" and job.has_started:
            self._phases.start(job, replica)
        elif kind == "end" and job.has_started and job.outcome is not None:
            self._phases.fail(job, job.outcome)
        elif kind == "kill" and job.replicas.get(replica) in ("moving", "evicted"):
            self._phases.runner_of(job).kill(job, replica)
        elif kind == "give-up" and job.phase == Phase.QUEUED:
            self._phases.waiting.pop(job.name, None)
            self._phases.endings.finish(job, messages.stockout(job.location))
        elif kind == "watch" and job.phase == Phase.RUNNING and self._phases.observer.check_trial(job):
            self._timers.set(job, "watch", CHECK_TRIAL_SECONDS)
        self._store.save(job)

    def _begin(self, job: Job, key: str) -> None:
        """Take a step before RUNNING."""
        if key == "queued":
            self._queue(job)
        elif key == "admit":
            self._phases.next(job)
        elif key == "pending" and job.state == "JOB_STATE_QUEUED":
            self.runtime.set_state(job, "JOB_STATE_PENDING")
        elif key == "preparing":
            self.runtime.log(job, messages.PREPARING)
        elif key == "launch":
            self._phases.start_all(job)

    def _time_out(self, job: Job) -> None:
        outcome = messages.timed_out(job.scheduling.get("timeout", DEFAULT_TIMEOUT))
        if job.has_started:
            self._phases.stop(job, "teardown", outcome)
        elif job.phase == Phase.STOPPING and job.then in ("requeue", "restart"):
            job.then, job.outcome = "teardown", outcome
        elif job.phase in (Phase.QUEUED, Phase.PROVISIONING):
            self._phases.endings.finish(job, outcome)
