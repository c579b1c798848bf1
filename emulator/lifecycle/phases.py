"""The phases of a custom job's life and how one leads to the next."""

from emulator.lifecycle import exits, words
from emulator.lifecycle.endings import Endings
from emulator.lifecycle.stage import Exit
from emulator.lifecycle.times import PREEMPTION_RESTARTS, STOCKOUT_RETRIES
from emulator.protocol.documents import Document
from emulator.protocol.timestamps import moment, seconds, stamp
from emulator.state.records import Job, Phase

DEFAULT_TIMEOUT = "604800s"
WATCH_SECONDS = 1.0


class Phases(Endings):
    """Moves a job from phase to phase. Does not save the record: `Engine` does, around it."""

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
                self.publish(job)
            case Phase.REPORTING:
                self.report(job)

    def admit(self, job: Job) -> None:
        """Ask for machines; without any the job waits, tries again later or fails."""
        grant = self.capacity.take(job, self.clock.now())
        if grant.answer in ("wait", "wait-pending"):
            self.waiting[job.name] = job
            if grant.answer == "wait-pending" and job.state == "JOB_STATE_QUEUED":
                self.set_state(job, "JOB_STATE_PENDING")
            return
        if grant.answer == "stockout":
            allowance = PREEMPTION_RESTARTS if job.strategy == "SPOT" else STOCKOUT_RETRIES
            job.stockouts += 1
            if job.state != "JOB_STATE_PENDING":
                self.set_state(job, "JOB_STATE_PENDING")
            if job.stockouts > allowance:
                self.finish(job, words.stockout(job.location))
            else:
                self.to_phase(job, Phase.QUEUED, self.times.stockout_retry)
            return
        self.timers.drop(job, "give-up")
        if grant.answer == "never":
            self.finish(job, grant.outcome or words.internal())
            return
        job.holds_capacity = True
        if job.state != "JOB_STATE_PENDING":
            self.set_state(job, "JOB_STATE_PENDING")
        self.say(job, words.PROVISIONING)
        self.to_phase(job, Phase.PROVISIONING, 0 if grant.is_ready else self.times.provisioning)

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
        self.to_phase(job, Phase.STARTING, self.times.starting)
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
        if job.trial:
            self.timers.set(job, "watch", WATCH_SECONDS)
        self.started(job)
        planned = self.reclaim_after[job.preemptions] if job.preemptions < len(self.reclaim_after) else 0
        reclaim = planned if not job.story else 0
        after = reclaim or self.capacity.reclaim_seconds(job)
        if job.strategy == "SPOT" and after:
            self.timers.set(job, "reclaim", after)

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
        self.timers.drop(job, "reclaim", "phase", "watch", *(f"restart:{name}" for name in job.replicas))
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
            self.release(job)
            job.attempt += 1
            job.hosts += 1
            self.set_state(job, "JOB_STATE_PENDING")
            self.say(job, words.WAITING)
            self.to_phase(job, Phase.QUEUED, self.times.job_retry)
        elif job.then == "cancelled":
            job.outcome = job.outcome or words.cancelled()
            self.publish(job)
        else:
            self.say(job, words.TEARING_DOWN)
            self.to_phase(job, Phase.TEARDOWN, self.times.teardown)
