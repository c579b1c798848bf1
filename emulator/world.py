"""Everything together: one emulator with its clock, records, logs, engine, stages, faults and counts."""

import fnmatch
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator import listing
from emulator.clock import Clock, SetClock, WallClock
from emulator.documents import Document
from emulator.errors import exhausted, invalid
from emulator.faults import Faults
from emulator.lifecycle import words
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.stage import Grant, Plenty, Stage
from emulator.lifecycle.timers import Timers
from emulator.lifecycle.times import Times
from emulator.logs import Logs
from emulator.names import new_id, project_number
from emulator.records import Job, Record
from emulator.replicas.folders import Folders
from emulator.replicas.processes import Limits, Processes
from emulator.store import Store
from emulator.stories import LABEL, STORIES, Stories


@dataclass(frozen=True, kw_only=True)
class Options:
    """How an emulator is started. scripted: no processes, and a clock that stands until it is set to move."""

    state: Path
    speed: float = 1.0
    is_scripted: bool = False
    start: float | None = None
    reclaim_spot: tuple[float, ...] = ()
    limits: Limits = field(default_factory=Limits)


class Cast:
    """Gives each job to the stage that plays it: a story or real processes."""

    def __init__(self, stories: Stories, processes: Processes) -> None:
        self._stories, self._processes = stories, processes

    def _of(self, job: Job) -> Stage:
        return self._stories if job.story else self._processes

    def refusal(self, job: Job) -> Document | None:
        """Ask the stage that plays it."""
        return self._of(job).refusal(job)

    def start(self, job: Job, replica: str) -> None:
        """Ask the stage that plays it."""
        self._of(job).start(job, replica)

    def stop(self, job: Job, replica: str) -> None:
        """Ask the stage that plays it."""
        self._of(job).stop(job, replica)

    def kill(self, job: Job, replica: str) -> None:
        """Ask the stage that plays it."""
        self._of(job).kill(job, replica)

    def cue(self, job: Job, key: str) -> None:
        """Ask the stage that plays it."""
        self._of(job).cue(job, key)

    def queue_seconds(self, job: Job, usual: float) -> float:
        """Ask the stage that plays it."""
        return self._of(job).queue_seconds(job, usual)

    def survives(self, job: Job) -> bool:
        """Ask the stage that plays it."""
        return self._of(job).survives(job)

    def finishes_first(self, job: Job) -> bool:
        """Ask the stage that plays it."""
        return self._of(job).finishes_first(job)


class ToldCapacity(Plenty):
    """Machines without end, unless a job's story says otherwise."""

    stories: Stories

    def take(self, job: Job, now: float) -> Grant:
        """Ask the story first."""
        told = self.stories.grant(job) if job.story else None
        return told or super().take(job, now)


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
        self.scripts: list[tuple[str, str]] = [tuple(pair) for pair in self.store.setting("scripts", [])]

    def _fire(self, record: Record, key: str) -> None:
        if isinstance(record, Job):
            self.engine.fire(record, key)

    def start(self) -> None:
        """Take up what an earlier emulator left; needs the running event loop."""
        self.engine.resume(self.store.load(Job))
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

    # ------------------------------------------------------------ custom jobs
    def new_job(self, *, project: str, location: str, document: Document, **more: Any) -> Job:
        """Return a record for a checked CustomJob document; ApiError 429 if its story is a refusal. Saves nothing."""
        job = Job(
            project=project_number(project),
            project_id=project,
            location=location,
            id=new_id(),
            seq=self.store.next_seq(),
            document=document,
            **more,
        )
        document["name"] = job.name
        job.story = self._story(job)
        if job.story and STORIES[job.story].grant == "refused":
            raise exhausted(words.quota([words.CPU_QUOTA]))
        return job

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
