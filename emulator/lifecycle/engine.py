"""The engine: the verbs and the happenings of a custom job's life.

QUEUED -> PROVISIONING -> STARTING -> RUNNING -> STOPPING -> TEARDOWN -> (REPORTING, in stories) -> DONE
   ^-------------- retry, Spot restart -------------'
"""

from emulator.lifecycle import exits, words
from emulator.lifecycle.phases import WATCH_SECONDS, Phases
from emulator.lifecycle.stage import Exit
from emulator.lifecycle.times import INTERNAL_RETRIES, PREEMPTION_RESTARTS
from emulator.protocol.errors import precondition
from emulator.state.records import Job, Phase


class Engine(Phases):
    """Leads every custom job through its life. Its public methods save the record before they return."""

    def submit(self, job: Job) -> None:
        """Take a new job in."""
        self.logs.open(job.id)
        self.set_state(job, "JOB_STATE_QUEUED")
        job.document["createTime"] = job.document["updateTime"]
        self.say(job, words.WAITING)
        queue = self.stage.queue_seconds(job, self.times.queue)
        self.timers.set(job, "phase", self.times.scaled(queue))
        limit = self.capacity.waiting_limit(job)
        if limit is not None:
            self.timers.set(job, "give-up", limit)
        self.store.add(job)

    def cancel(self, job: Job) -> None:
        """Ask for the end; ApiError 400 when it has ended already. It may still end otherwise."""
        if job.is_finished:
            raise precondition(f"The {job.message} {job.name} is in state {job.state} and cannot be cancelled.")
        if job.state == "JOB_STATE_CANCELLING":
            return
        self.set_state(job, "JOB_STATE_CANCELLING")
        self.waiting.pop(job.name, None)
        self.timers.drop(job, "give-up")
        if job.phase in (Phase.QUEUED, Phase.PROVISIONING):
            job.phase, job.then = Phase.STOPPING, "cancelled"
            self.timers.set(job, "phase", self.times.scaled(self.times.cancel))
        elif job.phase in (Phase.STARTING, Phase.RUNNING):
            self.stop(job, "cancelled")
        elif job.phase == Phase.STOPPING and job.then in ("requeue", "restart"):
            job.then = "cancelled"
        self.store.save(job)

    def preempt(self, job: Job, replica: str = "") -> None:
        """Reclaim the machine of a replica, or of all: SIGTERM, grace, and the job starts anew on others.

        ApiError 400 if it does not run.
        """
        running = exits.alive(job)
        self._must_run(job, replica or exits.PRIMARY)
        job.preemptions += 1
        for name in [replica] if replica else running:
            self.say(job, words.TERMINATED, task=name)
        if job.preemptions > PREEMPTION_RESTARTS:
            outcome = words.stockout(job.location)
            self.say(job, outcome["error"]["message"], severity="ERROR")
            self.stop(job, "teardown", outcome)
        else:
            self.stop(job, "requeue")
        self.store.save(job)

    def move(self, job: Job, replica: str = exits.PRIMARY) -> None:
        """Maintenance: a replica ends and starts again on another machine under its host name; not counted."""
        self._must_run(job, replica)
        self.say(job, words.TERMINATED, task=replica)
        job.replicas[replica] = "moving"
        job.hosts += 1
        self.stage.stop(job, replica)
        if job.replicas[replica] == "moving":
            self.timers.set(job, f"kill:{replica}", self.times.stop_grace)
        self.store.save(job)

    def _must_run(self, job: Job, replica: str) -> None:
        if job.phase not in (Phase.STARTING, Phase.RUNNING) or job.replicas.get(replica) not in ("running", "waiting"):
            raise precondition(f"The replica {replica} of {job.name} is not running.")

    def exited(self, job: Job, replica: str, how: Exit) -> None:
        """A replica has ended."""
        was = job.replicas.get(replica)
        if was not in ("running", "moving"):
            return
        job.replicas[replica] = "exited"
        self.timers.drop(job, f"story:{replica}", f"kill:{replica}")
        if job.phase == Phase.STOPPING:
            if not exits.alive(job):
                self.stopped(job)
        elif was == "moving":
            self.restart_later(job, replica)
        else:
            self.judge(job, replica, how)
        self.store.save(job)

    def break_down(self, job: Job) -> None:
        """The service itself fails: the job is tried three times in all."""
        job.breakdowns += 1
        if job.breakdowns <= INTERNAL_RETRIES and not job.scheduling.get("disableRetries"):
            self.stop(job, "requeue")
        else:
            outcome = words.internal()
            self.say(job, outcome["error"]["message"], severity="ERROR")
            self.stop(job, "teardown", outcome)
        self.store.save(job)

    def look_again(self) -> None:
        """Machines may have become free: let the waiting jobs ask again, in order."""
        waiting, self.waiting = list(self.waiting.values()), {}
        for job in waiting:
            self.admit(job)
            self.store.save(job)

    def resume(self, jobs: list[Job]) -> None:
        """Go on after the emulator was gone: timers as they were, lost replicas start again as after maintenance."""
        for job in jobs:
            for key, due in list(job.timers.items()):
                self.timers.restore(job, key, due)
            if job.phase == Phase.QUEUED and "phase" not in job.timers:
                self.timers.set(job, "phase", 0)
            if job.phase != Phase.DONE and not self.stage.survives(job):
                self._recover(job)
                self.store.save(job)

    def _recover(self, job: Job) -> None:
        lost = exits.alive(job)
        if job.phase == Phase.STOPPING and (lost or "phase" not in job.timers):
            self.stopped(job)
        elif job.phase in (Phase.STARTING, Phase.RUNNING):
            job.hosts += 1
            for replica in lost:
                self.say(job, words.TERMINATED, task=replica)
                self.start(job, replica)

    def fire(self, job: Job, key: str) -> None:
        """A timer of a job is due."""
        kind, _, replica = key.partition(":")
        runs = job.phase in (Phase.STARTING, Phase.RUNNING)
        if kind == "phase":
            self.next_phase(job)
        elif kind == "timeout":
            self._time_out(job)
        elif kind == "reclaim" and job.phase == Phase.RUNNING:
            self.preempt(job)
        elif kind == "restart" and runs:
            self.start(job, replica)
        elif kind == "kill" and job.replicas.get(replica) == "moving":
            self.stage.kill(job, replica)
        elif kind == "give-up" and job.phase == Phase.QUEUED:
            self.waiting.pop(job.name, None)
            self.finish(job, words.stockout(job.location))
        elif kind == "watch" and job.phase == Phase.RUNNING:
            if self.watched(job):
                self.timers.set(job, "watch", WATCH_SECONDS)
        elif kind == "story":
            self.stage.cue(job, replica)
        self.store.save(job)

    def _time_out(self, job: Job) -> None:
        outcome = words.timed_out(job.scheduling.get("timeout", "604800s"))
        if job.phase in (Phase.STARTING, Phase.RUNNING):
            self.stop(job, "teardown", outcome)
        elif job.phase == Phase.STOPPING and job.then in ("requeue", "restart"):
            job.then, job.outcome = "teardown", outcome
        elif job.phase in (Phase.QUEUED, Phase.PROVISIONING):
            self.finish(job, outcome)
