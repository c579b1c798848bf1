"""One seed: users request and cancel jobs while everything fails; then failures stop and the result is checked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import OperationalError
from greenlet import greenlet

from jobs import states, vertex
from jobs.clients import JOB_LABEL
from jobs.queue.installation import Watch
from jobs.states import JobState
from jobs.steps import take_step
from jobs.submission import unmatched
from jobs.submission.cancel import cancel
from jobs.submission.ports import Ports
from tests.simulation.database import Database, Row, SimulatedStore
from tests.simulation.kernel import EPOCH, Kernel, Killed
from tests.simulation.vertex import Cloud, SimulatedRemote

STORM_SECONDS = 1_200.0
QUIET_SECONDS = 3_000.0
NAMES = ("Worker 0", "Worker 1", "The observer")
OBSERVER = 2
MAX_CALLS = 150
"""Of one request, in the whole run; without back-off an outage alone would bring more."""


class Clock:
    """A worker's clock: the database's time, and a clock of its own that is `skew` seconds off and is not used."""

    def __init__(self, kernel: Kernel, skew: float = 0.0) -> None:
        self.kernel, self.skew = kernel, skew

    def now(self) -> datetime:
        return self.kernel.now

    def monotonic(self) -> float:
        return self.kernel.seconds


class Person:
    """A person who cancels jobs."""

    def get_username(self) -> str:
        return "owner"


@dataclass
class Violation(Exception):
    """What must not be, and how it came to it."""

    what: str
    told: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([self.what, *self.told])


class Simulation:
    """One run of one seed. `clock` makes a worker's clock, so that a test can take a mend out."""

    def __init__(self, seed: int, clock: Callable[[Kernel, float], Any] = Clock) -> None:
        self.kernel = kernel = Kernel(seed)
        self.random, self.make_clock = kernel.random, clock
        self.database, self.cloud = Database(kernel), Cloud(kernel)
        self.database.faults = self.random.choice([0.0, 0.0, 0.01, 0.03])
        self.database.stall_share = self.random.choice([0.0, 0.01, 0.05])
        kernel.kill_share = self.random.choice([0.0, 0.0, 0.003, 0.02])
        self.cloud.faults = self.random.choice([0.1, 0.4, 0.8])
        self.cloud.is_late = self.random.random() < 0.3
        if self.cloud.is_late:
            self.cloud.faults = 0.8
        self.workers: list[greenlet] = []
        self.skews = [self.random.choice([0.0, 65.0, -3600.0, 86400.0]) for _ in range(3)]
        self.cancelled: set[str] = set()
        self.restored = False

    def run(self) -> None:
        """Run it; raises Violation."""
        kernel, random = self.kernel, self.random
        for stall in range(random.choice([0, 1, 1, 3])):
            begins = random.uniform(0, 300) + stall * 300
            self.database.stalls.append((begins, begins + random.choice([4.0, 20.0, 62.0, 90.0])))
        if random.random() < 0.2:
            begins = random.uniform(0, 300)
            self.cloud.outages.append((begins, begins + random.choice([60.0, 600.0])))
        for number in range(random.choice([1, 1, 2])):
            self._request(f"request {number + 1}", at=random.uniform(0, 120))
        self.workers = [kernel.start(self._process(which)) for which in range(3)]
        for _ in range(random.choice([0, 2, 6])):
            kernel.start(self._kill, at=random.uniform(0, 400))
        if random.random() < 0.1:
            self._plan_restore(random.uniform(5, 200))
        kernel.run(STORM_SECONDS)
        self.database.faults = self.database.stall_share = self.cloud.faults = kernel.kill_share = 0.0
        kernel.log("From here on nothing fails any more.")
        kernel.run(STORM_SECONDS + QUIET_SECONDS)
        self._judge()

    # ------------------------------------------------------------ who acts
    def _request(self, pk: str, *, at: float) -> None:
        def request() -> None:
            self.database.rows[pk] = Row(pk, self.kernel.now)
            self.database.add_event(pk, "approved")
            self.kernel.log("{} is approved.", pk)
            self._nudge()

        self.kernel.start(request, at=at)
        if self.random.random() < 0.35:
            self.kernel.start(lambda: self._cancel(pk), at=at + self.random.choice([0.05, 1, 5, 30, 100, 400]))

    def _cancel(self, pk: str) -> None:
        store = SimulatedStore(self.database, Watch(), Clock(self.kernel))
        for _ in range(20):
            try:
                if (row := self.database.rows.get(pk)) is None:
                    return
                if cancel(row, by=Person(), store=store):  # type: ignore[arg-type]
                    self.cancelled.add(pk)
                    self.kernel.log("The owner's cancellation of {} was accepted.", pk)
                    self._nudge()
                return
            except (OperationalError, Killed):  # the owner sees an error page, and clicks again
                self.kernel.sleep(10)

    def _nudge(self) -> None:
        """What Celery does, unless Redis lost it: wake workers at once, perhaps both."""
        for worker in self.workers[:2]:
            if self.random.random() < 0.6:
                self.kernel.wake(worker, after=0.01)

    def _process(self, which: int) -> Callable[[], None]:
        """Return what a process does from its start until it is killed; then it is started again."""

        def live() -> None:
            try:
                self._observe() if which == OBSERVER else self._work(which)
            except Killed:
                self.kernel.log("{} is killed between two statements.", NAMES[which])
                at = self.kernel.seconds + self.random.choice([0.0, 3.0, 60.0])
                self.workers[which] = self.kernel.start(self._process(which), at=at)

        return live

    def _work(self, which: int) -> None:
        """Take every job that is due its next step, again and again."""
        watch = Watch(began_at=self.kernel.now)  # a new process remembers nothing
        clock = self.make_clock(self.kernel, self.skews[which])
        store, remote = SimulatedStore(self.database, watch, clock), SimulatedRemote(self.cloud, clock)
        ports = Ports(store, remote, clock)  # type: ignore[arg-type]
        while True:
            try:
                store.trusted_since()  # as every sweep does
                for pk in list(self.database.rows):
                    take_step(pk, ports)
            except OperationalError:
                self.kernel.log("{} lost its connection to the database.", NAMES[which])
            self.kernel.sleep(self._pause())

    def _pause(self) -> float:
        """Return the seconds until the next row is due, at most a minute, plus up to five."""
        moments = [
            max(row.due_at, row.claimed_until or row.due_at) for row in self.database.rows.values() if row.due_at
        ]
        ahead = (min(moments) - self.kernel.now).total_seconds() if moments else 60.0
        return min(max(ahead, 0.0), 60.0) + self.random.uniform(0.1, 5)

    def _observe(self) -> None:
        """Poll the scope every thirty seconds."""
        clock = Clock(self.kernel)
        store, remote = SimulatedStore(self.database, Watch(), clock), SimulatedRemote(self.cloud, clock)
        while True:
            self.kernel.sleep(30)
            try:
                self._poll(Ports(store, remote, clock), remote)  # type: ignore[arg-type]
            except (OperationalError, vertex.VertexError):
                continue

    def _poll(self, ports: Ports, remote: SimulatedRemote) -> None:
        """Poll the scope as `observe` does: record what rows follow, settle what none follows."""
        if not self.cloud.lives:
            return
        listed = {each.name: each for each in remote.listed()}
        for row in list(self.database.rows.values()):
            if row.remote_name and not row.is_finished:
                told = listed.get(row.remote_name) or remote.get(row)
                self.database.wait()
                now = self.database.rows.get(row.pk)
                if now is not None and now.remote_name == told.name:  # a restore may have replaced the row
                    self.database.observe(now, states.from_vertex(told.state))
        followed = {row.remote_name for row in self.database.rows.values()}
        for each in listed.values():
            job = ports.store.get(each.raw["labels"][JOB_LABEL]) if each.name not in followed else None
            if job is not None:
                unmatched.settle_request(job, [each], ports)

    def _kill(self) -> None:
        which = self.random.randrange(3)
        self.kernel.log("{} is killed.", NAMES[which])
        self._restart(which, after=self.random.choice([0.0, 3.0, 60.0]))

    def _restart(self, which: int, *, after: float) -> None:
        self.kernel.kill(self.workers[which])
        self.workers[which] = self.kernel.start(self._process(which), at=self.kernel.seconds + after)

    def _plan_restore(self, at: float) -> None:
        """A backup at `at`, put back a while later: with the workers stopped for a minute, or while they work.

        Without either, in a database whose connections stay, a worker may not notice: then a double has to be noticed.
        """
        backups: list[tuple[Any, ...]] = []
        self.kernel.start(lambda: backups.append(self.database.copy()), at=at)
        stops, later = self.random.random() < 0.5, at + self.random.choice([61.0, 200.0])
        self.database.drops_connections = stops or self.random.random() < 0.7

        def restore() -> None:
            self.kernel.log("The database is replaced by the backup of second {:.0f}.", at)
            self.restored = True
            self.cancelled.clear()
            if stops:
                for which in range(3):
                    self._restart(which, after=60.0)
            self.database.restore(backups[0])

        self.kernel.start(restore, at=later)

    # ------------------------------------------------------------ what must hold
    def _judge(self) -> None:
        for pk, row in self.database.rows.items():
            lives, live = self.cloud.of(pk), self.cloud.live(pk)
            problem = (
                self._problem_of_end(row, [life.name for life in lives], [life.name for life in live])
                or self._problem_of_copies(pk, row)
                or (f"{pk} took {self.cloud.calls[pk]} calls." if self.cloud.calls.get(pk, 0) > MAX_CALLS else "")
            )
            if problem:
                raise Violation(f"Seed {self.kernel.seed}: {problem}", self.kernel.messages())

    def _problem_of_copies(self, pk: str, row: Row) -> str:
        """Return a problem if a request has several jobs without a known reason, or unreported ones."""
        lives = self.cloud.of(pk)
        if len(self.cloud.live(pk)) > 1:
            return f"{pk} has {len(self.cloud.live(pk))} live jobs after everything was quiet."
        others = [life for life in lives if life.name != row.remote_name]
        is_forgotten = self.restored and row.state == JobState.WITHDRAWN and len(lives) == 1
        is_silent = self.restored and not self.database.drops_connections
        if others and not (self.cloud.is_late or is_forgotten or is_silent):
            return f"{pk} was created {len(lives)} times although nothing came later than its window."
        is_untold = self.restored and (self.cloud.is_late or is_silent or is_forgotten)  # what knew of it is gone
        for life in others:
            checked_at = row.duplicates_checked_at and (row.duplicates_checked_at - EPOCH).total_seconds()
            is_listed_late = checked_at is not None and life.listed_at > checked_at  # and it ended between two polls
            has_ended = not life.is_live(self.kernel.seconds)
            if life.name not in self.database.unmatched and not (has_ended and (is_untold or is_listed_late)):
                return f"{pk} has a second job, {life.name}, that nobody noticed."
        return ""

    def _problem_of_end(self, row: Row, names: list[str], live: list[str]) -> str:
        """Return what is wrong with the end state of a request, or ""."""
        if row.state in {JobState.APPROVED, JobState.SUBMITTING}:
            return f"{row.pk} is still {row.state}, last error: {row.last_error!r}, due at {row.due_at}."
        if row.state in {JobState.WITHDRAWN, JobState.SUBMIT_FAILED}:
            return f"{row.pk} ended as {row.state} and {live} are live." if live else ""
        if row.remote_name not in names:
            return f"{row.pk} is {row.state} and follows no job."
        life = next(life for life in self.cloud.lives if life.name == row.remote_name)
        if row.pk in self.cancelled and life.is_live(self.kernel.seconds):
            return f"The cancellation of {row.pk} was accepted, and its job is still live."
        told = states.from_vertex(life.state(self.kernel.seconds))
        is_fresh = life.is_live(self.kernel.seconds) or life.ends_at > self.kernel.seconds - 120
        return "" if row.state == told or is_fresh else f"{row.pk} is {row.state}, its job is {told}."
