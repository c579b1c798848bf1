"""Everything together: one emulator with its clock, records, logs, engine, stages, faults and counts."""

import copy
import fnmatch
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator import listing
from emulator.cast import Cast, ToldCapacity
from emulator.clock import Clock, SetClock, WallClock
from emulator.documents import Document
from emulator.errors import exhausted, invalid
from emulator.faults import Faults
from emulator.lifecycle import words
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.timers import Timers
from emulator.lifecycle.times import Times
from emulator.logs import Logs
from emulator.names import new_id, project_number
from emulator.pipelines import Pipelines
from emulator.records import Job, Model, Operation, Pipeline, Record, Study
from emulator.replicas.cluster import metric_file
from emulator.replicas.folders import Folders
from emulator.replicas.processes import Limits, Processes
from emulator.store import Store
from emulator.stories import LABEL, STORIES, Stories
from emulator.tuning.studies import Tuning


@dataclass(frozen=True, kw_only=True)
class Options:
    """How an emulator is started. scripted: no processes, and a clock that stands until it is set to move."""

    state: Path
    speed: float = 1.0
    is_scripted: bool = False
    start: float | None = None
    reclaim_spot: tuple[float, ...] = ()
    limits: Limits = field(default_factory=Limits)


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
        capacity = ToldCapacity()
        self.timers = Timers(self.clock, self.store.find, self._fire)
        self.engine = Engine(self.store, self.logs, self.clock, self.times, self.timers, capacity)
        self.engine.reclaim_after = options.reclaim_spot
        stories = capacity.stories = Stories(self.engine)
        self.processes = Processes(self.engine, self.logs, self.clock, self.folders, options.limits)
        self.engine.stage = Cast(stories, self.processes)
        self.tuning = Tuning(self.engine, self._launch_trial, lambda job: metric_file(job, self.folders))
        self.pipelines = Pipelines(self.engine, self.tuning)
        self.engine.started, self.engine.ended = self._job_started, self._job_ended
        self.engine.watched = self._job_watched
        self.tuning.started = self.tuning.ended = self._study_moved
        self.scripts: list[tuple[str, str]] = [tuple(pair) for pair in self.store.setting("scripts", [])]

    def _fire(self, record: Record, key: str) -> None:
        if isinstance(record, Job):
            self.engine.fire(record, key)

    def start(self) -> None:
        """Take up what an earlier emulator left; needs the running event loop."""
        for kind in (Operation, Model, Pipeline):
            self.store.load(kind)
        studies = self.store.load(Study)
        self.engine.resume(self.store.load(Job))
        for study in studies:
            self.tuning.resume(study)
        for pipeline in self.store.all(Pipeline):
            self.pipelines.resume(pipeline)
        self.advance(self.clock.now())

    async def close(self) -> None:
        """Kill replicas, close files."""
        await self.processes.close()
        self.store.close()

    def advance(self, until: float) -> None:
        """Let everything happen that is due until a moment; a settable clock stands there afterwards."""
        self.timers.run(until)
        if isinstance(self.clock, SetClock):
            self.clock.set(until)
            self.store.set("clock", self.clock.now())

    # ------------------------------------------------------------ new records
    def _place(self, project: str, location: str) -> dict[str, Any]:
        number = project_number(project)
        seq = self.store.next_seq()
        return {"project": number, "project_id": project, "location": location, "id": new_id(), "seq": seq}

    def new_job(self, *, project: str, location: str, document: Document, **more: Any) -> Job:
        """Return a record for a checked CustomJob document; ApiError 429 if its story is a refusal. Saves nothing."""
        job = Job(**self._place(project, location), document=document, **more)
        document["name"] = job.name
        job.story = self._story(job)
        if job.story and STORIES[job.story].grant == "refused":
            raise exhausted(words.quota([words.CPU_QUOTA]))
        return job

    def new_study(self, *, project: str, location: str, document: Document) -> Study:
        """Return a record for a checked HyperparameterTuningJob document. Saves nothing."""
        study = Study(**self._place(project, location), document=document)
        document["name"] = study.name
        return study

    def new_pipeline(self, *, project: str, location: str, document: Document) -> Pipeline:
        """Return a record for a checked TrainingPipeline document. Saves nothing."""
        pipeline = Pipeline(**self._place(project, location), document=document)
        document["name"] = pipeline.name
        return pipeline

    def _launch_trial(self, study: Study, trial_id: str, arguments: list[str]) -> Job:
        spec = copy.deepcopy(study.document["trialJobSpec"])
        for pool in spec["workerPoolSpecs"]:
            task = pool.get("containerSpec") or pool.get("pythonPackageSpec")
            if task is not None:
                task["args"] = [*task.get("args", []), *arguments]
        document = {"displayName": f"{study.document['displayName'][:110]}_trial_{trial_id}", "jobSpec": spec}
        if "labels" in study.document:
            document["labels"] = dict(study.document["labels"])
        owner = {"owner": study.name, "trial": trial_id}
        job = self.new_job(project=study.project_id, location=study.location, document=document, **owner)
        self.engine.submit(job)
        return job

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

    # ------------------------------------------------------------ stories
    def _story(self, job: Job) -> str:
        label = job.document.get("labels", {}).get(LABEL, "")
        if label:
            if label not in STORIES:
                raise invalid(f"Unknown story {label!r} in label {LABEL}; there are {', '.join(STORIES)}.")
            return str(label)
        told = next((story for match, story in reversed(self.scripts) if _fits(match, job)), "")
        return told or ("happy" if self.options.is_scripted else "")

    def script(self, match: str, story: str) -> None:
        """Let every new job that fits play a story; ApiError 400 for an unknown story or a wrong match.

        match: a list filter (`labels.team=blue`), or a display name that may hold `*`. The latest rule wins.
        """
        if story not in STORIES:
            raise invalid(f"Unknown story {story!r}; there are {', '.join(STORIES)}.")
        if _is_filter(match):
            listing.test_of(Job, match)
        self.scripts.append((match, story))
        self.store.set("scripts", self.scripts)

    def find_job(self, text: str) -> Job:
        """Return a job by full name, id, or display name (the newest); ApiError 400 if there is none."""
        for job in reversed(self.store.all(Job)):
            if text in (job.name, job.id, job.document.get("displayName")):
                return job
        raise invalid(f"There is no custom job {text!r}.")


def _is_filter(match: str) -> bool:
    return any(sign in match for sign in "=:<>")


def _fits(match: str, record: Record) -> bool:
    if _is_filter(match):
        return listing.test_of(Job, match)(record)
    return fnmatch.fnmatchcase(record.document.get("displayName", ""), match or "*")
