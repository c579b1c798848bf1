"""Runs the replicas of jobs with a story: timers instead of processes."""

from emulator.lifecycle import messages
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.interfaces import Exit
from emulator.lifecycle.stories import story_of
from emulator.protocol.documents import Document
from emulator.state.records import PRIMARY, Job, Phase

EXIT_ON_TERM = 143
TERM_SECONDS = 2.0
ERROR = "RuntimeError: the story says so"


class StoryRunner:
    """Implements `lifecycle.interfaces.ReplicaRunner`. Its timers are `story:...` of the job's record."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._runtime, self._timers = engine, engine.runtime, engine.runtime.timers

    def start_error(self, job: Job) -> Document | None:
        """Return the pull error if the story has one."""
        image = job.worker_pools[0][1].get("containerSpec", {}).get("imageUri", "")
        return messages.image_denied(image, job.project) if story_of(job).image_is_missing else None

    def start(self, job: Job, replica: str) -> None:
        """Let the replica run as long as the story says."""
        story = story_of(job)
        self._runtime.log(job, "Training has started.", task=replica)
        if replica != PRIMARY:
            return
        if job.preemptions < len(story.preempt_after):
            self._timers.set(job, "story:preempt", story.preempt_after[job.preemptions])
            return
        if sum(job.worker_restarts.values()) + job.retries < story.evictions:
            self._timers.set(job, "story:evict", story.exit_seconds)
            return
        fails = story.exit_code and job.retries < story.failures
        self._timers.set(job, f"story:{replica}", story.exit_seconds if fails else story.run_seconds)
        for seconds, event in story.events:
            if event == "break" or (job.attempt == 1 and job.hosts == 1):
                self._timers.set(job, f"story:{event}", seconds)

    def stop(self, job: Job, replica: str) -> None:
        """End the replica two seconds after SIGTERM."""
        if not story_of(job).ignores_term:
            self._timers.set(job, f"story:{replica}", TERM_SECONDS)
        else:
            self._timers.cancel(job, f"story:{replica}")

    def kill(self, job: Job, replica: str) -> None:
        """End the replica now."""
        self._engine.exited(job, replica, Exit(messages.EXIT_ON_KILL))

    def fire(self, job: Job, key: str) -> None:
        """Handle a timer `story:KEY` that is due: an event, or the end of a replica."""
        event = {
            "preempt": self._engine.preempt,
            "move": self._engine.move,
            "evict": self._engine.evict,
            "break": self._engine.fail_internally,
        }.get(key)
        if event is not None and job.has_started:
            event(job)
        elif key in ("strange", "usual") and job.phase == Phase.RUNNING:
            self._runtime.set_state(job, "JOB_STATE_REBALANCING" if key == "strange" else "JOB_STATE_RUNNING")
        elif key in job.replicas:
            self._end(job, key)
        self._runtime.store.save(job)

    def _end(self, job: Job, replica: str) -> None:
        story = story_of(job)
        if job.phase == Phase.STOPPING or job.replicas[replica] in ("moving", "evicted"):
            self._engine.exited(job, replica, Exit(EXIT_ON_TERM))
        elif story.exit_code and job.retries < story.failures:
            self._runtime.log(job, ERROR, severity="ERROR", task=replica)
            self._engine.exited(job, replica, Exit(story.exit_code, "Error", ERROR))
        else:
            self._runtime.log(job, "epoch 1: loss 0.5", task=replica)
            self._runtime.log(job, "Training has ended.", task=replica)
            self._engine.exited(job, replica, Exit(0))
