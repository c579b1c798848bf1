"""Who plays a job: its story, or real processes; the rest of the emulator does not need to know."""

from emulator.documents import Document
from emulator.lifecycle.stage import Grant, Plenty, Stage
from emulator.records import Job
from emulator.replicas.processes import Processes
from emulator.stories import Stories


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
