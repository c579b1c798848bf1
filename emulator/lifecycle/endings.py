"""How a custom job ends, and what every step of its life uses: states, log lines, timers."""

from collections.abc import Callable

from emulator.lifecycle import shells, words
from emulator.lifecycle.clock import Clock
from emulator.lifecycle.stage import Capacity, Stage
from emulator.lifecycle.timers import Timers
from emulator.lifecycle.times import Times
from emulator.protocol.documents import Document
from emulator.protocol.timestamps import stamp
from emulator.state.logs import Line, Logs
from emulator.state.records import Job, Phase
from emulator.state.store import Store


def _nobody(job: Job) -> None:
    """Listen to nothing."""


def _no_watch(job: Job) -> bool:  # noqa: ARG001
    """Watch nothing."""
    return False


class Endings:
    """Ends jobs. Does not save the record: `Engine` does, around it."""

    def __init__(
        self, store: Store, logs: Logs, clock: Clock, times: Times, timers: Timers, capacity: Capacity
    ) -> None:
        self.store, self.logs, self.clock, self.times, self.capacity = store, logs, clock, times, capacity
        self.timers = timers
        self.stage: Stage
        self.reclaim_after: tuple[float, ...] = ()
        """Seconds of running after which the first, second, ... attempt of every Spot job is reclaimed; 0 = not."""
        self.ended: Callable[[Job], None] = _nobody
        """Called when a job's public state has become final."""
        self.started: Callable[[Job], None] = _nobody
        """Called when a job has entered RUNNING."""
        self.freed: Callable[[], None] = lambda: None
        """Called when machines have become free."""
        self.watched: Callable[[Job], bool] = _no_watch
        """Called every WATCH_SECONDS while a trial runs; returns whether to go on."""
        self.waiting: dict[str, Job] = {}
        """Jobs that stand in the queue for capacity, in order."""

    def set_state(self, job: Job, state: str) -> None:
        """Change the public state, now."""
        now = self.clock.now()
        job.document["state"] = state
        job.document["updateTime"] = stamp(now)
        job.document.pop("webAccessUris", None)
        if state == "JOB_STATE_RUNNING" and (uris := shells.uris(job)):
            job.document["webAccessUris"] = uris
        job.live(now, state)

    def say(self, job: Job, text: str, *, severity: str = "INFO", task: str = "service") -> None:
        """Write a log line in the service's name, or beside a replica's own output."""
        self.logs.write(job, [Line(self.clock.now(), task, severity, {"textPayload": text})])

    def to_phase(self, job: Job, phase: Phase, service_seconds: float) -> None:
        """Enter a phase that lasts so long at speed 1."""
        job.phase = phase
        self.timers.set(job, "phase", self.times.scaled(service_seconds))

    def finish(self, job: Job, outcome: Document) -> None:
        """End a job that has no replicas."""
        if "error" in outcome:
            self.say(job, outcome["error"]["message"], severity="ERROR")
        job.outcome = outcome
        self.publish(job)

    def release(self, job: Job) -> None:
        """Give the job's machines back."""
        if job.holds_capacity:
            job.holds_capacity = False
            self.capacity.give_back(job)
            self.freed()

    def publish(self, job: Job) -> None:
        """Make the outcome public, the error with it; only a story may let the error come later."""
        assert job.outcome is not None
        if job.phase == Phase.TEARDOWN:
            self.say(job, words.TORN_DOWN)
        self.release(job)
        self.set_state(job, job.outcome["state"])
        job.document["endTime"] = job.document["updateTime"]
        job.timers.clear()
        job.replicas = {}
        if job.state == "JOB_STATE_FAILED":
            self.say(job, words.FAILED, severity="ERROR")
        else:
            self.say(job, words.SUCCEEDED if job.outcome == words.SUCCESS else words.CANCELLED)
        late = self.stage.error_seconds(job)
        if late and "error" in job.outcome:
            job.phase = Phase.REPORTING
            self.timers.set(job, "phase", late)
        else:
            self.report(job)
        self.ended(job)

    def report(self, job: Job) -> None:
        """Make the error public."""
        assert job.outcome is not None
        job.phase = Phase.DONE
        if "error" in job.outcome:
            job.document["error"] = job.outcome["error"]
            job.document["updateTime"] = stamp(self.clock.now())
