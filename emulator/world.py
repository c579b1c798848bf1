"""Everything together: one emulator with its clock, records, logs, engine, stages, faults and counts."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.capacity.grants import Grants
from emulator.capacity.ledger import Ledger
from emulator.capacity.plans import Plans
from emulator.capacity.pools import Pools
from emulator.creation.intake import Intake
from emulator.lifecycle.clock import Clock, SetClock, WallClock
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.timers import Timers
from emulator.lifecycle.times import Times
from emulator.pipelines import Pipelines
from emulator.protocol.documents import Document
from emulator.protocol.timestamps import stamp
from emulator.rehearsal.cast import Cast, Machines
from emulator.rehearsal.faults import Faults
from emulator.rehearsal.scripts import Scripts
from emulator.rehearsal.stories import Stories
from emulator.replicas.cluster import metric_file
from emulator.replicas.images import Given, Images
from emulator.replicas.processes import Limits, Processes
from emulator.state.folders import Folders
from emulator.state.logs import Logs
from emulator.state.records import Job, Model, Operation, Pipeline, Plan, Pool, Record, Study
from emulator.state.store import Store
from emulator.state.transactions import together
from emulator.tuning.studies import Tuning

SLICE = 50


@dataclass(frozen=True, kw_only=True)
class Options:
    """How an emulator is started. scripted: no processes, and a clock that stands until it is set to move."""

    state: Path
    speed: float = 1.0
    is_scripted: bool = False
    start: float | None = None
    reclaim_spot: tuple[float, ...] = ()
    capacity: Document = field(default_factory=dict)
    """A capacity plan (capacity.ledger, capacity.plans) that is merged into the present one at the start."""
    limits: Limits = field(default_factory=Limits)
    images: Given = ()
    """Images that need no command, and what runs for them (replicas.images)."""


class World:
    """One emulator."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.store = Store(options.state)
        self.logs = Logs(self.store.db)
        self.folders = Folders(options.state)
        self.faults = Faults()
        self.calls: Counter[str] = Counter()
        self.uploads: dict[str, tuple[str, str, bytearray]] = {}
        """Resumable uploads under way: `{session: (bucket, object, what has come)}`."""
        self.clock: Clock = WallClock()
        if options.is_scripted:
            now = WallClock().now()
            self.clock = SetClock(self.store.setting("clock", options.start if options.start is not None else now))
        self.times = Times(speed=options.speed, least_grace=0 if options.is_scripted else Times.least_grace)
        self.ledger = Ledger()
        self.grants = Grants(self.ledger)
        machines = Machines(self.grants)
        self.timers = Timers(self.clock, self.store.find, self._fire)
        self.engine = Engine(self.store, self.logs, self.clock, self.times, self.timers, machines)
        self.engine.reclaim_after = options.reclaim_spot
        self.engine.freed = self.engine.look_again
        self.plans = Plans(self.engine, self.ledger)
        self.pools = machines.pools = Pools(self.engine, self.ledger, self._pool_done)
        stories = machines.stories = Stories(self.engine)
        self.scripts = Scripts(self.store, is_scripted=options.is_scripted)
        self.intake = Intake(self.store, self.ledger, self.pools, self.scripts)
        images = Images(options.images)
        self.processes = Processes(self.engine, self.logs, self.clock, self.folders, options.limits, images)
        self.engine.stage = Cast(stories, self.processes)
        self.tuning = Tuning(self.engine, self.intake.launcher(self.engine), lambda job: metric_file(job, self.folders))
        self.pipelines = Pipelines(self.engine, self.tuning)
        self.engine.started, self.engine.ended = self._job_started, self._job_ended
        self.engine.watched = self._job_watched
        self.tuning.started = self.tuning.ended = self._study_moved

    def _fire(self, record: Record, key: str) -> None:
        if isinstance(record, Job):
            self.engine.fire(record, key)
        elif isinstance(record, Pool):
            self.pools.fire(record, key)
        elif isinstance(record, Plan):
            self.plans.fire(record, key)

    def start(self) -> None:
        """Take up what an earlier emulator left; needs the running event loop."""
        for kind in (Operation, Model, Pipeline):
            self.store.load(kind)
        self.plans.load(self.store.load(Plan))
        if self.options.capacity:
            self.plans.change(self.options.capacity)
        with together(self.store.db):
            self._take_up()
        self.advance(self.clock.now())

    def _take_up(self) -> None:
        for pool in self.store.load(Pool):
            self.pools.restore(pool)
        studies, jobs = self.store.load(Study), self.store.load(Job)
        for job in jobs:
            self.grants.restore(job)
        self.engine.resume(jobs)
        for study in studies:
            self.tuning.resume(study)
        for pipeline in self.store.all(Pipeline):
            self.pipelines.resume(pipeline)

    async def close(self) -> None:
        """Kill replicas, close files."""
        await self.processes.close()
        self.store.close()

    def advance(self, until: float) -> None:
        """Let everything happen that is due until a moment; a settable clock stands there afterwards.

        On the wall's clock at most SLICE timers are fired, so that requests are answered in between.
        """
        with together(self.store.db):
            if isinstance(self.clock, SetClock):
                self.timers.run(until)
                self.clock.set(until)
                self.store.set("clock", self.clock.now())
            else:
                self.timers.run(until, most=SLICE)

    # ------------------------------------------------------------ who follows whom
    def _job_started(self, job: Job) -> None:
        owner = self.store.find(job.owner) if job.owner else None
        if isinstance(owner, Study):
            self.tuning.trial_started(owner)
        elif isinstance(owner, Pipeline):
            self.pipelines.follow(owner, job)

    def _job_ended(self, job: Job) -> None:
        owner = self.store.find(job.owner) if job.owner else None
        if isinstance(owner, Study):
            self.tuning.trial_ended(owner, job)
        elif isinstance(owner, Pipeline):
            self.pipelines.follow(owner, job)

    def _job_watched(self, job: Job) -> bool:
        owner = self.store.find(job.owner) if job.owner else None
        return self.tuning.watch(owner, job) if isinstance(owner, Study) else False

    def _study_moved(self, study: Study) -> None:
        owner = self.store.find(study.owner) if study.owner else None
        if isinstance(owner, Pipeline):
            self.pipelines.follow(owner, study)

    def _pool_done(self, pool: Pool, result: dict[str, Any]) -> None:
        pending = self.store.get(Operation, pool.operation)
        if pending is not None:
            pending.document["metadata"]["genericMetadata"]["updateTime"] = stamp(self.clock.now())
            pending.document |= {"done": True, **result}
            self.store.save(pending)
