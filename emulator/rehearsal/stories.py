"""Told lives: replicas without processes, for tests with a settable clock. The rest of the life is the real one.

A story says what a job's replicas and machines do; state is a function of the story and the clock. Which
job plays which story is in `scripts`.
"""

from dataclasses import dataclass

from emulator.lifecycle import exits, words
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.stage import Exit, Grant
from emulator.protocol.documents import Document
from emulator.protocol.errors import RESOURCE_EXHAUSTED
from emulator.state.logs import Line
from emulator.state.records import Job, Phase

EXIT_ON_TERM = 143
EXIT_ON_KILL = 137
TERM_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens. Seconds are the clock's."""

    summary: str
    run_seconds: float = 600.0
    exit_code: int = 0
    failures: int = 1_000
    """How many ends have `exit_code`, before one succeeds."""
    exit_seconds: float = 30.0
    """How long a replica runs before it ends with `exit_code`."""
    queue_seconds: float | None = None
    preempt_after: tuple[float, ...] = ()
    events: tuple[tuple[float, str], ...] = ()
    """What happens while the first attempt runs: (seconds, "move", "break", "strange" or "usual")."""
    grant: str = "yes"
    image_is_missing: bool = False
    error_seconds: float = 0.0
    """How long after the end the error becomes public."""
    ignores_term: bool = False
    wins_over_cancel: bool = False


STORIES: dict[str, Story] = {
    "happy": Story(summary="Queues, is provisioned, runs ten minutes, succeeds."),
    "short": Story(summary="Like happy, but runs one second.", run_seconds=1),
    "long": Story(summary="Like happy, but runs for 30 days, unless its timeout ends it.", run_seconds=2_592_000),
    "slow-queue": Story(summary="Waits two hours in QUEUED, then happy.", queue_seconds=7_200),
    "stockout": Story(summary="No machines, however often it is retried: fails with STOCKOUT.", grant="stockout"),
    "preempted": Story(summary="Reclaimed after 120 s, twice, then happy.", preempt_after=(120, 120)),
    "preempted-once": Story(summary="Reclaimed after 20 s, then runs one second.", preempt_after=(20,), run_seconds=1),
    "always-preempted": Story(summary="Reclaimed after 60 s each time, until it fails.", preempt_after=(60,) * 7),
    "quota": Story(summary="Refused on create: 429 with the quota metrics.", grant="refused"),
    "quota-fails": Story(summary="Accepted, then fails on quota.", grant="quota"),
    "fails": Story(summary="Exit 1 every time: restarts, retries, then FAILED.", exit_code=1),
    "flaky": Story(summary="Exit 1 twice, restarted on its host, then succeeds.", exit_code=1, failures=2),
    "segfault": Story(summary="Exit 139 every time: three retries of the job, then FAILED.", exit_code=139),
    "oom": Story(summary="Killed for memory: FAILED at once.", exit_code=137),
    "late-error": Story(summary="Like oom, but its error follows a minute later.", exit_code=137, error_seconds=60),
    "image": Story(summary="The image cannot be pulled: FAILED.", image_is_missing=True),
    "internal": Story(summary="Internal error three times: FAILED.", events=((60, "break"),)),
    "maintenance": Story(summary="Its worker is moved once, then happy.", events=((120, "move"),)),
    "stubborn": Story(summary="Ignores SIGTERM; a cancel takes the whole grace.", ignores_term=True),
    "cancel-races": Story(summary="Ends with success while it is being cancelled.", wins_over_cancel=True),
    "strange": Story(
        summary="Shows a state that no document knows for a minute, then happy.",
        events=((60, "strange"), (120, "usual")),
    ),
}


class Stories:
    """Implements `lifecycle.stage.Stage` without processes. All its timers are `story:...` of the record."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def refusal(self, job: Job) -> Document | None:
        """Return the pull error if the story has one."""
        image = job.pools[0][1].get("containerSpec", {}).get("imageUri", "")
        return words.image_denied(image, job.project) if STORIES[job.story].image_is_missing else None

    def queue_seconds(self, job: Job, usual: float) -> float:
        """Return the story's time in the queue."""
        told = STORIES[job.story].queue_seconds
        return usual if told is None else told

    def grant(self, job: Job) -> Grant | None:
        """Return what the story says about machines; None = ask for real ones."""
        told = STORIES[job.story].grant
        if told == "stockout":
            return Grant("stockout")
        if told == "quota":
            return Grant("never", words.failure(RESOURCE_EXHAUSTED, words.quota([words.CPU_QUOTA])))
        return None

    def start(self, job: Job, replica: str) -> None:
        """Let the replica run as long as the story says."""
        story = STORIES[job.story]
        timers = self._engine.timers
        self._say(job, replica, "Training has started.")
        if replica != exits.PRIMARY:
            return
        if job.preemptions < len(story.preempt_after):
            timers.set(job, "story:preempt", story.preempt_after[job.preemptions])
            return
        told = sum(job.worker_restarts.values()) + job.retries
        fails = story.exit_code and told < story.failures
        timers.set(job, f"story:{replica}", story.exit_seconds if fails else story.run_seconds)
        for seconds, event in story.events:
            if event == "break" or (job.attempt == 1 and job.hosts == 1):
                timers.set(job, f"story:{event}", seconds)

    def stop(self, job: Job, replica: str) -> None:
        """End it two seconds after SIGTERM."""
        if not STORIES[job.story].ignores_term:
            self._engine.timers.set(job, f"story:{replica}", TERM_SECONDS)
        else:
            self._engine.timers.drop(job, f"story:{replica}")

    def kill(self, job: Job, replica: str) -> None:
        """End it now."""
        self._engine.exited(job, replica, Exit(EXIT_ON_KILL))

    def cue(self, job: Job, key: str) -> None:
        """A moment of the story has come."""
        runs = job.phase in (Phase.STARTING, Phase.RUNNING)
        if key == "preempt" and runs:
            self._engine.preempt(job)
        elif key == "move" and runs:
            self._engine.move(job)
        elif key == "break" and runs:
            self._engine.break_down(job)
        elif key in ("strange", "usual") and job.phase == Phase.RUNNING:
            self._engine.set_state(job, "JOB_STATE_REBALANCING" if key == "strange" else "JOB_STATE_RUNNING")
        elif key in job.replicas:
            self._end(job, key)

    def _end(self, job: Job, replica: str) -> None:
        story = STORIES[job.story]
        if job.phase == Phase.STOPPING or job.replicas[replica] == "moving":
            self._engine.exited(job, replica, Exit(EXIT_ON_TERM))
            return
        told = sum(job.worker_restarts.values()) + job.retries
        if story.exit_code and told < story.failures:
            self._say(job, replica, "RuntimeError: the story says so", severity="ERROR")
            self._engine.exited(job, replica, Exit(story.exit_code, "Error", "RuntimeError: the story says so"))
            return
        self._say(job, replica, "epoch 1: loss 0.5")
        self._say(job, replica, "Training has ended.")
        self._engine.exited(job, replica, Exit(0))

    def error_seconds(self, job: Job) -> float:
        """Return how late the story's error is."""
        return STORIES[job.story].error_seconds

    def survives(self, job: Job) -> bool:  # noqa: ARG002
        """Stories go on where they were."""
        return True

    def finishes_first(self, job: Job) -> bool:
        """Tell whether the story ends by itself while it is cancelled."""
        return STORIES[job.story].wins_over_cancel

    def _say(self, job: Job, replica: str, text: str, severity: str = "INFO") -> None:
        self._engine.logs.write(job, [Line(self._engine.clock.now(), replica, severity, {"textPayload": text})])
