"""Who plays a job, and who gives it machines: its story, a persistent resource, or the real thing."""

from emulator.capacity.grants import Grants
from emulator.capacity.pools import Pools
from emulator.lifecycle.stage import Grant, Stage
from emulator.protocol.documents import Document
from emulator.rehearsal.stories import Stories
from emulator.replicas.processes import Processes
from emulator.state.records import Job

POOL_QUEUE_SECONDS = 1.0


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
        """Ask the stage that plays it; a persistent resource has no queue before its own."""
        told = self._of(job).queue_seconds(job, usual)
        return min(told, POOL_QUEUE_SECONDS) if "persistentResourceId" in job.spec else told

    def error_seconds(self, job: Job) -> float:
        """Ask the stage that plays it."""
        return self._of(job).error_seconds(job)

    def survives(self, job: Job) -> bool:
        """Ask the stage that plays it."""
        return self._of(job).survives(job)

    def finishes_first(self, job: Job) -> bool:
        """Ask the stage that plays it."""
        return self._of(job).finishes_first(job)


class Machines:
    """Gives each job the machines that its story tells of, that its persistent resource lends, or that there are."""

    stories: Stories
    pools: Pools

    def __init__(self, grants: Grants) -> None:
        self._grants = grants

    def take(self, job: Job, now: float) -> Grant:
        """Ask for all machines of a job."""
        told = self.stories.grant(job) if job.story else None
        if told is not None:
            return told
        return self.pools.claim(job) if "persistentResourceId" in job.spec else self._grants.take(job, now)

    def give_back(self, job: Job) -> None:
        """Return a job's machines."""
        if "persistentResourceId" in job.spec:
            self.pools.release(job)
        else:
            self._grants.give_back(job)

    def waiting_limit(self, job: Job) -> float | None:
        """Return when the job gives up waiting."""
        return self._grants.waiting_limit(job)

    def reclaim_seconds(self, job: Job) -> float | None:
        """Return when a Spot job is reclaimed."""
        return self._grants.reclaim_seconds(job)
