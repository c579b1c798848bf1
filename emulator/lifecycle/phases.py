"""The phases of a custom job's life and how one leads to the next."""

from collections.abc import Callable

from emulator.clock import Clock, moment, seconds, stamp
from emulator.documents import Document
from emulator.lifecycle import exits, words
from emulator.lifecycle.stage import Capacity, Exit, Stage
from emulator.lifecycle.timers import Timers
from emulator.lifecycle.times import PREEMPTION_RESTARTS, STOCKOUT_RETRIES, Times
from emulator.logs import Line, Logs
from emulator.records import Job, Phase
from emulator.store import Store

DEFAULT_TIMEOUT = "604800s"


def _nobody(job: Job) -> None:
    """Listen to nothing."""


class Phases:
    """Moves a job from phase to phase. Does not save the record: `Engine` does, around it."""

    def __init__(self, store: Store, logs: Logs, clock: Clock, times: Times, capacity: Capacity) -> None:
        self.store, self.logs, self.clock, self.times, self.capacity = store, logs, clock, times, capacity
        self.stage: Stage
        self.timers: Timers
        self.reclaim_after: tuple[float, ...] = ()
        """Seconds of running after which the first, second, ... attempt of every Spot job is reclaimed; 0 = not."""
        self.ended: Callable[[Job], None] = _nobody
        """Called when a job's public state has become final."""
        self.waiting: dict[str, Job] = {}
        """Jobs that stand in the queue for capacity, in order."""

    # ------------------------------------------------------------ what every step uses
    def set_state(self, job: Job, state: str) -> None:
        """Change the public state, now."""
        now = self.clock.now()
        job.document["state"] = state
        job.document["updateTime"] = stamp(now)
        job.history.append([now, state])

    def say(self, job: Job, text: str, *, severity: str = "INFO", task: str = "service") -> None:
        """Write a log line in the service's name, or beside a replica's own output."""
        self.logs.write(job, [Line(self.clock.now(), task, severity, {"textPayload": text})])

    def _phase(self, job: Job, phase: Phase, service_seconds: float) -> None:
        job.phase = phase
        self.timers.set(job, "phase", self.times.scaled(service_seconds))

    # ------------------------------------------------------------ upwards
    def next_phase(self, job: Job) -> None:
        """The phase's time is over."""
        match job.phase:
            case Phase.QUEUED:
                self.admit(job)
            case Phase.PROVISIONING:
                self._launch(job)
            case Phase.STARTING:
                self.run(job)
            case Phase.STOPPING if exits.alive(job):
                for replica in exits.alive(job):
                    self.stage.kill(job, replica)
            case Phase.STOPPING:
                self.stopped(job)
            case Phase.TEARDOWN:
                self._publish(job)
            case Phase.REPORTING:
                self._report(job)

    def admit(self, job: Job) -> None:
        """Ask for machines; without any the job waits, tries again later or fails."""
        grant = self.capacity.take(job, self.clock.now())
        if grant.answer == "wait":
            self.waiting[job.name] = job
            return
        if grant.answer == "stockout":
            allowance = PREEMPTION_RESTARTS if job.strategy == "SPOT" else STOCKOUT_RETRIES
            job.stockouts += 1
            if job.state != "JOB_STATE_PENDING":
                self.set_state(job, "JOB_STATE_PENDING")
            if job.stockouts > allowance:
                self.finish(job, words.stockout(job.location))
            else:
                self._phase(job, Phase.QUEUED, self.times.stockout_retry)
            return
        self.timers.drop(job, "give-up")
        if grant.answer == "never":
            self.finish(job, grant.outcome or words.internal())
            return
        job.holds_capacity = True
        if job.state != "JOB_STATE_PENDING":
            self.set_state(job, "JOB_STATE_PENDING")
        self.say(job, words.PROVISIONING)
        self._phase(job, Phase.PROVISIONING, self.provisioning_seconds(job))

    def provisioning_seconds(self, job: Job) -> float:
        """Return how long machines take at speed 1: a persistent resource has them already."""
        return 0.0 if job.spec.get("persistentResourceId") else self.times.provisioning

    def _launch(self, job: Job) -> None:
        """Start every replica; user code may run from here on."""
        self.say(job, words.SETTING_UP)
        refusal = self.stage.refusal(job)
        if refusal is not None:
            self.finish(job, refusal)
            return
        self.say(job, words.WAITING_FOR_PROGRAM)
        self.say(job, words.PREPARING)
        self.start_all(job)

    def start_all(self, job: Job) -> None:
        """Start all replicas of the job in parallel."""
        job.worker_restarts = {}
        self._phase(job, Phase.STARTING, self.times.starting)
        for replica in job.replica_names:
            self.start(job, replica)

    def start(self, job: Job, replica: str) -> None:
        """Start one replica."""
        job.replicas[replica] = "running"
        self.stage.start(job, replica)

    def run(self, job: Job) -> None:
        """All replicas are there."""
        now = self.clock.now()
        job.phase = Phase.RUNNING
        self.timers.drop(job, "phase")
        if "startTime" not in job.document:
            job.document["startTime"] = stamp(now)
            timeout = seconds(job.scheduling.get("timeout", DEFAULT_TIMEOUT))
            self.timers.restore(job, "timeout", moment(job.document["startTime"]) + timeout)
        self.set_state(job, "JOB_STATE_RUNNING")
        self.say(job, words.RUNNING)
        plan = self.reclaim_after[job.preemptions : job.preemptions + 1]
        if job.strategy == "SPOT" and not job.story and plan and plan[0] > 0:
            self.timers.set(job, "reclaim", plan[0])

    # ------------------------------------------------------------ downwards
    def judge(self, job: Job, replica: str, how: Exit) -> None:
        """A replica has ended by itself: act on what that means."""
        verdict, outcome = exits.judge(job, replica, how)
        if verdict == "nothing":
            return
        if job.phase == Phase.STARTING:
            self.run(job)
        if outcome and "error" in outcome:
            self.say(job, outcome["error"]["message"], severity="ERROR")
        if verdict in ("worker", "restart"):
            job.worker_restarts[replica] = job.worker_restarts.get(replica, 0) + 1
        if verdict == "worker":
            self.restart_later(job, replica)
        elif verdict == "restart":
            self.stop(job, "restart")
        elif verdict == "retry":
            job.retries += 1
            self.stop(job, "requeue")
        else:
            self.stop(job, "teardown", outcome)

    def restart_later(self, job: Job, replica: str) -> None:
        """Start a replica again on its host name after a short while."""
        job.replicas[replica] = "waiting"
        self.timers.set(job, f"restart:{replica}", self.times.scaled(self.times.worker_restart))

    def stop(self, job: Job, then: str, outcome: Document | None = None) -> None:
        """End all replicas, with grace; `then` follows."""
        job.phase, job.then, job.outcome = Phase.STOPPING, then, outcome
        self.timers.drop(job, "reclaim", "phase", *(f"restart:{name}" for name in job.replicas))
        if then != "requeue" and then != "restart":
            self.timers.drop(job, "timeout")
        for replica in exits.alive(job):
            self.stage.stop(job, replica)
        if job.phase == Phase.STOPPING and exits.alive(job):
            self.timers.set(job, "phase", self.times.stop_grace)
        elif job.phase == Phase.STOPPING:
            self.stopped(job)

    def stopped(self, job: Job) -> None:
        """No replica is left."""
        self.timers.drop(job, "phase")
        job.replicas = dict.fromkeys(job.replicas, "exited")
        if job.then == "cancelled" and self.stage.finishes_first(job):
            job.then, job.outcome = "teardown", words.SUCCESS
        if job.then == "restart":
            restarts = job.worker_restarts
            self.set_state(job, "JOB_STATE_PENDING")
            job.attempt += 1
            self.start_all(job)
            job.worker_restarts = restarts
        elif job.then == "requeue":
            self._release(job)
            job.attempt += 1
            job.hosts += 1
            self.set_state(job, "JOB_STATE_PENDING")
            self.say(job, words.WAITING)
            self._phase(job, Phase.QUEUED, self.times.job_retry)
        elif job.then == "cancelled":
            job.outcome = job.outcome or words.cancelled()
            self._publish(job)
        else:
            self.say(job, words.TEARING_DOWN)
            self._phase(job, Phase.TEARDOWN, self.times.teardown)

    def finish(self, job: Job, outcome: Document) -> None:
        """End a job that has no replicas."""
        if "error" in outcome:
            self.say(job, outcome["error"]["message"], severity="ERROR")
        job.outcome = outcome
        self._publish(job)

    def _release(self, job: Job) -> None:
        if job.holds_capacity:
            job.holds_capacity = False
            self.capacity.give_back(job)

    def _publish(self, job: Job) -> None:
        """Make the outcome public; a failure's error follows later."""
        assert job.outcome is not None
        if job.phase == Phase.TEARDOWN:
            self.say(job, words.TORN_DOWN)
        self._release(job)
        self.set_state(job, job.outcome["state"])
        job.document["endTime"] = job.document["updateTime"]
        job.timers.clear()
        job.replicas = {}
        if job.state == "JOB_STATE_FAILED":
            self.say(job, words.FAILED, severity="ERROR")
            self._phase(job, Phase.REPORTING, self.times.report)
        else:
            self.say(job, words.SUCCEEDED if job.outcome == words.SUCCESS else words.CANCELLED)
            self._report(job)
        self.ended(job)

    def _report(self, job: Job) -> None:
        assert job.outcome is not None
        job.phase = Phase.DONE
        if "error" in job.outcome:
            job.document["error"] = job.outcome["error"]
            job.document["updateTime"] = stamp(self.clock.now())
