"""One seed: people use the site while everything fails; then failures stop, and the judge looks at what is left."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any
from unittest import mock

from celery import Task
from django.db import connections
from django.test import override_settings

from jobs import cache, clock, tasks
from jobs.models import Job
from jobs.queue import rate_limit
from jobs.vertex.deadline import BoundedAdapter
from tests.simulation.run import QUIET_SECONDS, STORM_SECONDS, Violation
from tests.simulation.site import judge
from tests.simulation.site.celery import Queue, beat, work
from tests.simulation.site.google import Google, Life
from tests.simulation.site.network import GOOGLE, Network
from tests.simulation.site.people import LARGE_HOURS, SMALL_HOURS, TO_STANDARD, People
from tests.simulation.site.process import Bystander, Faults, Process, SiteKernel
from tests.simulation.site.receivers import Receiver

WORKERS = ("Worker 0", "Worker 1", "Worker 2")
SWEEP_SECONDS = 5.0
RESTORE_SHARE = 0.35
"""Of the runs: a backup is put in place."""
STEP_SHARE = 0.2
"""Of the runs: the database's clock steps forward or back, and back again."""
BASE_MONOTONIC = 1_000.0
BUSY = """
SELECT EXISTS (SELECT 1 FROM jobs_job WHERE due_at <= %(soon)s AND (claimed_until IS NULL OR claimed_until <= %(soon)s))
    OR EXISTS (SELECT 1 FROM jobs_message WHERE routed_at IS NULL)
    OR EXISTS (
        SELECT 1 FROM jobs_delivery AS delivery LEFT JOIN jobs_channel AS channel ON channel.id = delivery.channel_id
        WHERE delivery.state = 'waiting' AND delivery.due_at <= %(soon)s
            AND (delivery.claimed_until IS NULL OR delivery.claimed_until <= %(soon)s)
            AND (channel.claimed_until IS NULL OR channel.claimed_until <= %(soon)s)
            AND (channel.held_until IS NULL OR channel.held_until <= %(soon)s)
    )
"""
"""Whether a sweep would find a step or a message to hand out. What is claimed or held, it would not."""


class SiteSimulation:
    """One run of one seed over a database. `run` raises Violation."""

    def __init__(self, seed: int, database: Any) -> None:
        self.kernel = kernel = SiteKernel(seed)
        self.random, self.database = kernel.random, database
        self.faults, self.queue = Faults(), Queue(kernel)
        self.google, self.receiver = Google(kernel), Receiver(kernel)
        self.people = People(kernel, lambda name: self.process(name))
        self.running: dict[str, Process] = {}
        self.was_restored = self.is_silent = False
        """Whether a backup was put in place, and whether that happened in a way that no process could notice."""
        self.restored_case = ""
        self.steps_clock = False
        self.is_undisturbed = True
        """Whether no process died and no statement failed, so that nothing has a reason to be repeated."""
        self.expected_rules: set[str] = set()
        self.overlooked = ""
        """What a stage of the sweep would have done although its question found no work."""

    def run(self) -> None:
        """Run it; raises Violation."""
        self.database.reset()
        with imitated(self):
            self._plan_faults()
            self._plan_people()
            for name in WORKERS:
                self._start(name)
            self._start("Beat")
            if self.kernel.seed % 5 == 0 and self.database.restores_in_place:
                for _ in range(4):
                    self.kernel.start(self._ask_idle, at=self.random.uniform(0, STORM_SECONDS))
            self.kernel.run(STORM_SECONDS)
            self._end_faults()
            self.kernel.run(STORM_SECONDS + QUIET_SECONDS)
            self._stop()
            with self.looking():
                problem = judge.problem_of(self)
        if problem:
            raise Violation(f"Seed {self.kernel.seed}: {problem}", self.kernel.messages())

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Read the database inside the block without taking time."""
        before = self.kernel.current
        bystander = Bystander(self.kernel, "The judge", self.database.connect, Faults())
        self.kernel.current = None
        bystander.enter()
        try:
            yield
        finally:
            bystander.close()
            self.kernel.current = before
            if before is not None:
                before.enter()

    def process(self, name: str) -> Process:
        """Return a new process of the site, for one request of a person."""
        return Process(self.kernel, name, self.database.connect, self.faults, self._on_death)

    def lives_of_key(self, key: str) -> list[Life]:
        """Return the jobs at Google that were created for a request key."""
        ids = {str(pk) for pk in Job.objects.filter(request_key=key).values_list("pk", flat=True)}
        return [life for life in self.google.lives if life.request in ids]

    # ------------------------------------------------------------ processes
    def _start(self, name: str, *, after: float = 0.0) -> None:
        process = self.running[name] = self.process(name)
        main: Callable[[], None] = lambda: work(process, self.queue)  # noqa: E731
        if name == "Beat":
            main = lambda: beat(process, self.queue, self._is_busy, SWEEP_SECONDS)  # noqa: E731
        process.start(main, at=self.kernel.seconds + after)

    def _on_death(self, process: Process) -> None:
        self.is_undisturbed = False
        self.receiver.repeatable |= process.sent_last
        if self.running.get(process.name) is process:
            self._start(process.name, after=self.random.choice([0.0, 3.0, 60.0]))

    def _restart(self, name: str, *, after: float) -> None:
        self.is_undisturbed = False
        self.running[name].kill()
        self._start(name, after=after)

    def _stop(self) -> None:
        for process in self.running.values():
            process.kill()

    def _is_busy(self) -> bool:
        """Return whether a job or a message is due within the next seconds."""
        soon = str((self.kernel.database_now + timedelta(seconds=SWEEP_SECONDS)).replace(tzinfo=None))
        return bool(self.database.ask(BUSY, soon=soon))

    def _ask_idle(self) -> None:
        """Let the judge compare what the stages of the sweep say of their work with what they do."""
        if self.database.writer is None and not self.overlooked:
            with self.looking():
                self.overlooked = judge.overlooked_work()

    # ------------------------------------------------------------ what goes wrong
    def _plan_faults(self) -> None:
        random, faults, kernel = self.random, self.faults, self.kernel
        faults.break_share = random.choice([0.0, 0.0, 0.001, 0.004])
        faults.stall_share = random.choice([0.0, 0.001, 0.004])
        faults.kill_share = random.choice([0.0, 0.0, 0.0005, 0.003])
        self.google.faults = random.choice([0.1, 0.4, 0.8])
        self.google.is_late = random.random() < 0.2
        self.receiver.faults = random.choice([0.0, 0.2, 0.6])
        self.queue.loses, self.queue.repeats = random.choice([0.0, 0.2]), random.choice([0.0, 0.6])
        for stall in range(random.choice([0, 1, 1, 3])):
            begins = random.uniform(0, 300) + stall * 300
            faults.stalls.append((begins, begins + random.choice([4.0, 20.0, 62.0, 90.0])))
        if random.random() < 0.2:
            begins = random.uniform(0, 300)
            self.google.outages.append((begins, begins + random.choice([60.0, 600.0])))
        for _ in range(random.choice([0, 2, 6])):
            kernel.start(self._kill, at=random.uniform(0, 400))
        if random.random() < RESTORE_SHARE:
            self._plan_restore(random.uniform(5, 200))
        if random.random() < STEP_SHARE:
            self._plan_steps(random.uniform(20, 300))
        if faults.break_share or faults.stall_share or faults.kill_share or faults.stalls:
            self.is_undisturbed = False

    def _plan_steps(self, at: float) -> None:
        """Plan that the database's clock steps by some time, and back a while later."""
        kernel = self.kernel
        size, back = self.random.choice([-3600, -600, -120, 120, 600, 3600]), at + self.random.choice([20, 90, 300])

        def step(offset: timedelta) -> None:
            kernel.clock_offset = offset
            kernel.log("The database's clock is {} away from the true time.", offset)

        self.is_undisturbed, self.steps_clock = False, True
        kernel.start(lambda: step(timedelta(seconds=size)), at=at)
        kernel.start(lambda: step(timedelta()), at=back)

    def _kill(self) -> None:
        self.kernel.current = None
        name = self.random.choice([*WORKERS, "Beat"])
        self.kernel.log("{} is killed.", name)
        self._restart(name, after=self.random.choice([0.0, 3.0, 60.0]))

    def _end_faults(self) -> None:
        self.faults.end()
        self.google.faults = self.receiver.faults = self.queue.loses = 0.0
        self.kernel.log("From here on nothing fails any more.")

    def _plan_restore(self, at: float) -> None:
        """Plan a backup at `at`, and put it in place a while later: with the site stopped, or while it works.

        `restored_case` says what the backup does not know: at a random moment; what was sent of a request that was just
        accepted; a request, which its owner makes again; the approval of a request, which is then cancelled. Inside the
        same file, with the connections open, a process may not notice a restore unless it misses an event.
        """
        random, people, backups = self.random, self.people, list[Any]()
        back_up = lambda: self._back_up(backups)  # noqa: E731
        case = self.restored_case = random.choice(["moment", "sent", "sent", "made again", "approved"])
        later = at + random.choice([3.0, 10.0, 25.0] if case != "moment" else [61.0, 200.0])
        if case == "sent":
            people.at(at, "The owner", people.request("before-backup", then=back_up))
        elif case == "approved":
            people.at(at, "The owner", people.request("question", hours=LARGE_HOURS, then=back_up))
            for name in ("approver", "second"):
                people.at(at + 1, name, people.vote("question", name))
        else:
            self.kernel.start(back_up, at=at)
        if case == "made again":
            people.at(at + 0.5, "The owner", people.request("again"))
        stops = random.random() < 0.5
        drops_connections = stops or case == "approved" or random.random() < 0.7
        drops_connections = drops_connections or not self.database.restores_in_place
        pause = random.choice([0.5, 3.0, 60.0])

        def restore() -> None:
            self.kernel.current = None
            if not backups:  # the request before it was never accepted
                return
            self.kernel.log("The database is replaced by the backup of second {:.0f}.", at)
            self.was_restored, self.is_silent = True, not drops_connections
            self.is_undisturbed = False
            self.expected_rules.add("duplicate")  # jobs of requests that the backup does not have
            people.cancelled.clear()
            if stops:
                for name in self.running:
                    self._restart(name, after=pause)
            self.database.restore(backups[0], drops_connections=drops_connections)
            now = self.kernel.seconds
            if stops and random.random() < 0.5:
                people.at(now + 5, "An operator", people.operate("restored"))
            if case == "made again":
                hours = random.choice([SMALL_HOURS, SMALL_HOURS / 2])
                people.at(now + random.choice([2, 20, 70]), "The owner", people.request("again", hours=hours))
            if case == "approved":
                people.at(now + random.choice([2, 20, 70]), "The owner", people.cancel("question"))

        self.kernel.start(restore, at=later)

    def _back_up(self, backups: list[Any]) -> None:
        self.kernel.log("A backup is made.")
        backups.append(self.database.back_up())

    # ------------------------------------------------------------ who acts
    def _plan_people(self) -> None:
        random, people = self.random, self.people
        for number in range(random.choice([1, 1, 2])):
            key, at = f"request-{number + 1}", random.uniform(0, 120)
            people.at(at, "The owner", people.request(key, cap=random.choice(["", "", "2.50"])))
            if random.random() < 0.35:
                later = at + random.choice([0.05, 1, 5, 30, 100, 400])
                people.at(later, "The owner", people.cancel(key))
            if random.random() < 0.3:
                people.at(random.uniform(300, 1500), "The owner", people.delete(key))
        if random.random() < 0.4:
            self._plan_approval(random.uniform(0, 120))
        if random.random() < 0.4:
            people.at(random.uniform(0, 120), "The owner", people.request("attempts", plan=TO_STANDARD))
        if random.random() < 0.3:
            overlaps = random.random() < 0.3
            people.at(
                random.uniform(0, 60), "The owner", people.schedule("nightly", minutes=5, allows_overlap=overlaps)
            )
            people.at(STORM_SECONDS, "The owner", people.pause("nightly"))
        if random.random() < 0.2:
            people.at(random.uniform(100, 1000), "An operator", people.operate(random.choice(["audit", "prune"])))
        if random.random() < 0.2:
            self._plan_resource(random.uniform(0, 200))
        if random.random() < 0.2:
            self._plan_adoption(random.uniform(0, 200))
        if random.random() < 0.25:
            self._plan_budget(random.uniform(0, 200))

    def _plan_approval(self, at: float) -> None:
        random, people = self.random, self.people
        people.at(at, "The owner", people.request("large", hours=LARGE_HOURS))
        for name in ("approver", "second"):
            rejects = random.random() < 0.2
            people.at(at + random.choice([5, 30, 30.01, 300]), name, people.vote("large", name, rejects=rejects))
        if random.random() < 0.3:
            people.at(at + random.choice([5, 30, 200]), "The owner", people.cancel("large"))

    def _plan_resource(self, at: float) -> None:
        for action in ("create", self.random.choice(["resize", "reboot"]), "delete"):
            self.people.at(at, "The lead", self.people.change(action))
            at += self.random.choice([60, 300])

    def _plan_budget(self, at: float) -> None:
        """Lower the budget below the cost of a large job, and lift it again."""
        self.people.at(at, "The lead", self.people.set_budget(Decimal(40)))
        self.people.at(at + self.random.choice([300, 900]), "The lead", self.people.set_budget(Decimal(300)))

    def _plan_adoption(self, at: float) -> None:
        body = {"displayName": "notebook", "jobSpec": {"workerPoolSpecs": []}}
        self.google.make(body, at, lasts=self.random.choice([60.0, 3000.0]))
        self.people.at(at + 150, "The owner", self.people.discover)
        for later in (200, 260):
            self.people.at(at + later, "The owner", self.people.adopt)


@contextmanager
def imitated(run: SiteSimulation) -> Iterator[None]:
    """Inside the block time, chance, the network and Celery are those of the run."""
    kernel, main = run.kernel, connections["default"]
    network = Network(kernel, run.google, run.receiver)

    def send(adapter: BoundedAdapter, prepared: Any, **options: Any) -> Any:
        return network.send(adapter, prepared, **options)

    def apply_async(task: "Task[..., None]", args: Any = None, kwargs: Any = None, **options: Any) -> None:
        run.queue.put(task, kwargs, **options)

    cache.forget_all()
    rate_limit.forget()
    with ExitStack() as stack:
        for target, name, value in (
            (clock, "read_database_clock", kernel.read_clock),
            (clock, "_asked", None),  # of an earlier run in this process
            (time, "monotonic", lambda: BASE_MONOTONIC + kernel.seconds),
            (time, "clock_gettime", lambda _: BASE_MONOTONIC + kernel.seconds),
            (os, "urandom", kernel.random.randbytes),
            (secrets, "randbelow", lambda below: kernel.random.randrange(below)),
            (BoundedAdapter, "send", send),
            (Task, "apply_async", apply_async),
            (tasks, "_waiting", run.queue.waiting),
        ):
            stack.enter_context(mock.patch.object(target, name, value))
        stack.enter_context(override_settings(VERTEX_ENDPOINT=GOOGLE, MESSAGES_ALLOW_LOOPBACK=True, SENDS_EMAIL=False))
        try:
            yield
        finally:
            connections["default"] = main
