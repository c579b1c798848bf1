"""Processes of the site: greenlets in virtual time, each with a connection and a memory of its own."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import OperationalError, connections
from greenlet import getcurrent, greenlet

from jobs import clock, steps
from jobs.queue import installation
from jobs.submission.doubts import Doubts
from tests.simulation.kernel import EPOCH, Kernel, Killed

STATEMENT_SECONDS = 0.003
STALLS = (5.0, 9.0, 20.0, 31.0, 62.0, 90.0)


class SiteKernel(Kernel):
    """A kernel that gives each process its own connection and module state back when it continues."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.current: Process | None = None
        self.clock_offset = timedelta()
        """How far the database's clock is from the true time, which is Google's."""

    @property
    def database_now(self) -> datetime:
        """The time of the database's clock."""
        return self.now + self.clock_offset

    def sleep(self, seconds: float) -> None:
        """Let others run, and continue as the process that slept."""
        process = self.current
        try:
            super().sleep(seconds)
        finally:
            self.current = process
            if process is not None:
                process.enter()

    def read_clock(self) -> datetime:
        """Ask the database for its time, which takes as long as any statement."""
        if self.current is not None:
            self.current.pause()
        return self.database_now


class Process:
    """One process of the site, from its start until it ends or is killed.

    `connect` opens its connection to the database. `on_death` is called when it dies by itself. A killed process runs
    no further statement: whatever its `finally` blocks still try raises Killed.
    """

    def __init__(
        self,
        kernel: SiteKernel,
        name: str,
        connect: Callable[["Process"], Any],
        faults: "Faults",
        on_death: Callable[["Process"], None] = lambda process: None,
    ) -> None:
        self.kernel, self.name, self.faults, self.on_death = kernel, name, faults, on_death
        self.is_killed = False
        self._connect = connect
        self.connection = connect(self)
        self.watch, self.lock, self.doubts = installation.Watch(), threading.Lock(), Doubts()
        self.task: greenlet | None = None
        self.task_began_at = kernel.database_now
        self.sent_last: set[str] = set()

    def start(self, work: Callable[[], None], *, at: float | None = None) -> None:
        """Let the process begin with `work`, now or at a second of the run."""

        def live() -> None:
            self.kernel.current = self
            self.enter()
            try:
                work()
            except Killed:
                self.is_killed = True
                self.on_death(self)
            finally:
                self.close()

        self.task = self.kernel.start(live, at=at)

    def enter(self) -> None:
        """Make this process the one whose connection and memory the site's modules use."""
        connections["default"] = self.connection
        installation._watch, installation._lock = self.watch, self.lock
        steps._doubts, clock._asked = self.doubts, None

    def kill(self) -> None:
        """End the process where it waits. Its open transaction is lost."""
        if self.task is not None and self.task is not getcurrent():
            self.is_killed = True
            before = self.kernel.current
            self.kernel.kill(self.task)
            self.close()
            self.kernel.current = before
            if before is not None:
                before.enter()

    def close(self) -> None:
        """Close the connection, as the end of a process does."""
        self.connection.close()

    # ------------------------------------------------------------ what every statement and commit passes
    def pause(self, seconds: float = STATEMENT_SECONDS) -> None:
        """Take the time of one statement. Raise Killed or OperationalError as the faults of the run decide."""
        kernel, faults = self.kernel, self.faults
        if self.is_killed:
            raise Killed
        if faults.kill_share and kernel.random.random() < faults.kill_share:
            self._die()
        if faults.stall_share and kernel.random.random() < faults.stall_share:
            seconds = kernel.random.choice(STALLS)
            kernel.log("{} waits {:.0f} s for one statement.", self.name, seconds)
        kernel.sleep(seconds * (0.5 + kernel.random.random()))
        for begins, ends in faults.stalls:
            if begins <= kernel.seconds < ends:
                kernel.sleep(ends - kernel.seconds)
        if self.is_killed:
            raise Killed
        if faults.kill_share and kernel.random.random() < faults.kill_share:
            self._die()
        if faults.break_share and kernel.random.random() < faults.break_share:
            self.lose_connection("The connection broke.")

    def lose_connection(self, words: str) -> None:
        """Raise OperationalError. The open transaction is lost; the next statement opens a new connection."""
        self.kernel.log("{} loses its connection to the database.", self.name)
        self.connection.generation = -1
        raise OperationalError(words)

    def _die(self) -> None:
        self.is_killed = True
        self.kernel.log("{} is killed between two statements.", self.name)
        raise Killed


class Bystander(Process):
    """Reads the database between two events of the run, without taking time and without faults."""

    def pause(self, seconds: float = STATEMENT_SECONDS) -> None:
        """Do not wait."""


class Faults:
    """What goes wrong with processes and their database; the shares are per statement.

    In `stalls` (from, to, in seconds) no statement is answered before the end.
    """

    def __init__(self) -> None:
        self.kill_share = self.break_share = self.stall_share = 0.0
        self.stalls: list[tuple[float, float]] = []

    def end(self) -> None:
        """From here on nothing fails any more."""
        self.kill_share = self.break_share = self.stall_share = 0.0


def moment_of(seconds: float) -> datetime:
    """Return the true time at a second of the run."""
    return EPOCH + timedelta(seconds=seconds)
