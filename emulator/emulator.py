"""One emulator. It creates all of its parts and passes events between them."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from emulator.capacity.allocator import Allocator
from emulator.capacity.inventory import Inventory
from emulator.capacity.persistent_resources import PersistentResources
from emulator.capacity.plans import CapacityPlans
from emulator.capacity.resource_pools import Lending
from emulator.creation.factory import RecordFactory
from emulator.lifecycle.clock import Clock, SetClock, SkippingClock, WallClock
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.interfaces import ReplicaRunner
from emulator.lifecycle.phases import Phases
from emulator.lifecycle.runtime import Runtime
from emulator.lifecycle.scripts import STARTS
from emulator.lifecycle.timers import Timers
from emulator.lifecycle.times import Times
from emulator.pipelines import Pipelines
from emulator.protocol.documents import Document
from emulator.replicas.images import Images, ImageTable
from emulator.replicas.process_runner import Limits, ProcessRunner
from emulator.scenarios.faults import Faults
from emulator.scenarios.script_rules import ScriptRules
from emulator.scenarios.script_runner import ScriptRunner
from emulator.state.buckets import Buckets
from emulator.state.folders import Folders
from emulator.state.logs import Logs
from emulator.state.records import (
    CapacityPlan,
    Job,
    Model,
    Nested,
    Operation,
    PersistentResource,
    Pipeline,
    Record,
    Study,
)
from emulator.state.store import Store
from emulator.tuning.studies import Studies

MAX_TIMERS_AT_ONCE = 50
START_SETTING = "start_after_restart"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of an emulator. With `is_scripted` there are no processes, and the clock moves only when it is set."""

    state: Path
    speed: float = 1.0
    is_scripted: bool = False
    start: float | None = None
    reclaim_spot: tuple[float, ...] = ()
    capacity: Document = field(default_factory=dict)
    """A capacity plan (capacity.inventory, capacity.plans) that is merged into the current one at the start."""
    limits: Limits = field(default_factory=Limits)
    start_after_restart: str = STARTS[0]
    """What `startTime` shows after a restart: the "first" settled start, or the "last" (lifecycle.engine)."""
    log_lateness: tuple[float, float] = (0.0, 0.0)
    """The fewest and the most seconds after which a log entry can be read; 4 to 28 s were recorded."""
    skips_waits: bool = False
    """Let the clock skip the waits that no speed shortens (lifecycle.timers.SKIPPED), for tests with processes."""
    images: ImageTable = ()
    """Images that need no command, and the commands that run for them (replicas.images)."""


class Emulator:
    """One emulator. It observes its engine, so that tuning jobs and pipelines follow the jobs that they created."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.store = Store(options.state)
        fewest, most = options.log_lateness
        self.logs = Logs(self.store, (fewest / options.speed, most / options.speed))
        self.folders = Folders(options.state)
        self.buckets = Buckets(self.folders.buckets)
        self.faults = Faults()
        self.calls: Counter[str] = Counter()
        self.uploads: dict[str, tuple[str, str, bytearray]] = {}
        """Unfinished resumable uploads: `{session: (bucket, object, content so far)}`."""
        self.denied: frozenset[str] = frozenset()
        self.disabled: frozenset[str] = frozenset()
        """Services that are disabled. `denied` are the permissions that callers lack."""
        self.images: Document = {"missing": [], "remote": [], "sizes": {}}
        """Exceptions to a registry that has every image (methods.artifacts)."""
        self.clock = _clock(options, self.store)
        self.timers = Timers(self.clock, self.store.find, self._fire)
        times = Times(speed=options.speed, min_grace=0 if options.is_scripted else Times.min_grace)
        self.runtime = Runtime(self.store, self.logs, self.clock, times, self.timers)
        inventory = Inventory()
        lending = Lending(self.runtime, inventory)
        self._allocator = Allocator(inventory, lending)
        restarted = self.store.get_setting(START_SETTING, options.start_after_restart)
        self.phases = Phases(self.runtime, self._allocator, self._runner_of, self, options.reclaim_spot, restarted)
        self.engine = Engine(self.phases)
        self._script_runner = ScriptRunner(self.engine)
        self.processes = ProcessRunner(self.engine, self.folders, options.limits, Images(options.images))
        self.capacity_plans = CapacityPlans(self.engine, inventory)
        self.persistent_resources = PersistentResources(self.engine, inventory, lending)
        self.script_rules = ScriptRules(self.store, is_scripted=options.is_scripted)
        self.factory = RecordFactory(self.store, inventory, lending, self.script_rules)
        self.studies = Studies(self.engine, self.factory, self.folders, self._study_changed)
        self.pipelines = Pipelines(self.engine, self.studies)

    def start(self) -> None:
        """Restore the records of an earlier emulator process. Needs the running event loop."""
        for kind in (Operation, Model, Pipeline, *Nested.__subclasses__()):
            self.store.load(kind)
        self.capacity_plans.restore(self.store.load(CapacityPlan))
        if self.options.capacity:
            self.capacity_plans.change(self.options.capacity)
        with self.store.transaction():
            for resource in self.store.load(PersistentResource):
                self.persistent_resources.restore(resource)
            studies, jobs = self.store.load(Study), self.store.load(Job)
            for job in jobs:
                self._allocator.restore(job)
            self.engine.resume(jobs)
            for study in studies:
                self.studies.resume(study)
            for pipeline in self.store.all(Pipeline):
                self.pipelines.resume(pipeline)
        self.advance(self.clock.now())

    async def close(self) -> None:
        """Kill replicas and close files."""
        await self.processes.close()
        self.store.close()

    def advance(self, until: float) -> None:
        """Fire the timers due by a time. A settable clock is set to it.

        With the wall clock, at most MAX_TIMERS_AT_ONCE are fired, so that requests are answered in between.
        """
        with self.store.transaction():
            if isinstance(self.clock, SetClock):
                self.timers.run(until)
                self.clock.set(until)
                self.store.set_setting("clock", self.clock.now())
            else:
                self.timers.run(until, limit=MAX_TIMERS_AT_ONCE)

    # ------------------------------------------------------------ from one part to another
    def _runner_of(self, job: Job) -> ReplicaRunner:
        return self._script_runner if job.script else self.processes

    def _fire(self, record: Record, key: str) -> None:
        if isinstance(record, Job) and key.startswith("script:"):
            self._script_runner.fire(record, key.removeprefix("script:"))
        elif isinstance(record, Job):
            self.engine.fire(record, key)
        elif isinstance(record, Study):
            self.studies.fire(record, key)
        elif isinstance(record, Pipeline):
            self.pipelines.begin(record)
        elif isinstance(record, PersistentResource):
            self.persistent_resources.fire(record, key)
        elif isinstance(record, CapacityPlan):
            self.capacity_plans.fire(record, key)

    def _owner(self, record: Job | Study) -> Record | None:
        return self.store.find(record.owner) if record.owner else None

    def job_started(self, job: Job) -> None:
        """Update the tuning job that created a job when the job enters RUNNING."""
        owner = self._owner(job)
        if isinstance(owner, Study):
            self.studies.trial_started(owner, job)

    def job_ended(self, job: Job) -> None:
        """Update the tuning job or pipeline that created a job when the job ends."""
        owner = self._owner(job)
        if isinstance(owner, Study):
            self.studies.trial_ended(owner, job)
        elif isinstance(owner, Pipeline):
            self.pipelines.follow(owner, job)

    def check_trial(self, job: Job) -> bool:
        """Read the metrics of a running trial. Return whether to check it again."""
        owner = self._owner(job)
        return isinstance(owner, Study) and self.studies.check_trial(owner, job)

    def _study_changed(self, study: Study) -> None:
        owner = self._owner(study)
        if isinstance(owner, Pipeline):
            self.pipelines.follow(owner, study)


def _clock(options: Options, store: Store) -> Clock:
    if not options.is_scripted:
        return SkippingClock() if options.skips_waits else WallClock()
    start = WallClock().now() if options.start is None else options.start
    return SetClock(store.get_setting("clock", start))
