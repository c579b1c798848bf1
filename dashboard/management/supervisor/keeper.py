"""Keeps parts running: starts them in layers, restarts those that die, and ends them in reverse order.

It uses one thread and one `select`. The parent-death signal of children depends on the thread that started them, and a
process without other threads can fork safely.
"""

import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence
from types import FrameType

from dashboard.management.supervisor.child import Child, Part
from dashboard.management.supervisor.console import Console

TURN_SECONDS = 0.5
READY_SECONDS = 15.0
STOP_SECONDS = 5.0
LONG_DELAY_SECONDS = 30.0
SETTLED_SECONDS = 60.0
"""A part that ran this long counts as healthy, so its next death is the first of a series."""
PATIENCE_SECONDS = 1.0
"""Signals within this time count as one request, because make passes on what the terminal has already sent. A later
signal kills."""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def delay_seconds(deaths: int) -> float:
    """Return the delay before the restart after `deaths` deaths in a row: 0, 1, 2, 4, ... at most 30 s."""
    return 0.0 if deaths <= 1 else min(LONG_DELAY_SECONDS, 2.0 ** (deaths - 2))


class Keeper:
    """The running parts. `run` returns when a signal or a watcher requested a stop and every part has ended."""

    def __init__(self, console: Console, layers: Sequence[Sequence[Part]] = ()) -> None:
        """Use these layers of parts. A layer starts when the previous one is ready, and stops before it."""
        self.console = console
        self.layers = layers
        self.turn_seconds = TURN_SECONDS
        self.on_stop: Callable[[], None] = lambda: None
        self.watchers: list[Callable[[Keeper], None]] = []
        self.children: dict[str, Child] = {}
        self.deaths: dict[str, int] = {}
        self.started_at: dict[str, float] = {}
        self.due: dict[str, tuple[float, Part]] = {}
        self.asked_at = 0.0
        self.in_a_hurry = False
        self.reason = ""
        self.selector = selectors.DefaultSelector()

    # ------------------------------------------------------------ the whole run
    def run(self) -> None:
        """Start everything, keep it running, stop everything."""
        bell, self.bell = socket.socketpair()
        bell.settimeout(0)  # `signal.set_wakeup_fd` accepts no blocking descriptor
        self.bell.settimeout(0)
        heard = [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]  # nohup ignores SIGHUP
        before = {number: signal.signal(number, self._on_signal) for number in heard}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake `select`
        ringer = signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
        self.selector.register(self.bell, selectors.EVENT_READ)
        try:
            self._start_layers()
            while not self.reason:
                self.turn(self.turn_seconds)
                for watcher in self.watchers:
                    watcher(self)
        finally:
            self._stop_layers()
            signal.set_wakeup_fd(ringer)
            for number, handler in before.items():
                signal.signal(number, handler)
            self.selector.close()
            bell.close()
            self.bell.close()

    def stop(self, reason: str) -> None:
        """Make `run` stop after this turn. `reason` is for people."""
        self.reason = self.reason or reason

    def turn(self, seconds: float) -> None:
        """Wait at most `seconds` for an event, print the output of parts, and restart parts that died."""
        now = time.monotonic()
        pause = max(0.0, min([seconds, *(moment - now for moment, _ in self.due.values())]))
        for key, _ in self.selector.select(pause):
            if key.data is None:
                self.bell.recv(4096)
            else:
                self._hear(key.data)
        for child in [child for child in self.children.values() if child.has_ended()]:
            self._bury(child)
        if self.console.is_lost:
            self.stop("nobody reads the log")
        now = time.monotonic()
        for name, (moment, part) in list(self.due.items()):
            if moment <= now and not self.reason:
                del self.due[name]
                self._start(part)

    # ------------------------------------------------------------ one part
    def _start(self, part: Part) -> None:
        child = self.children[part.name] = Child(part)
        self.started_at[part.name] = time.monotonic()
        self.selector.register(child.output, selectors.EVENT_READ, child)

    def _hear(self, child: Child) -> None:
        output = child.read()
        if output:
            self.console.log_output(child.part.name, output, child.part.hushed)
        elif output is not None:
            self.selector.unregister(child.output)

    def _bury(self, child: Child) -> None:
        name = child.part.name
        while output := child.read():
            self.console.log_output(name, output, child.part.hushed)
        self.console.finish(name)
        if child.output in self.selector.get_map():
            self.selector.unregister(child.output)
        child.close()
        del self.children[name]
        if self.reason:
            return
        now = time.monotonic()
        settled = now - self.started_at[name] >= SETTLED_SECONDS
        deaths = self.deaths[name] = 1 if settled else self.deaths.get(name, 0) + 1
        wait = delay_seconds(deaths)
        self.due[name] = (now + wait, child.part)
        again = f"restarting in {wait:.0f} s (failure {deaths} in a row)" if wait else "restarting it now"
        self.console.log(f"{name} stopped unexpectedly ({child.ending()}); {again}")

    # ------------------------------------------------------------ layers
    def _start_layers(self) -> None:
        for layer in self.layers:
            for part in layer:
                if not self.reason:
                    self._start(part)
            for part in layer:
                self._await(part)

    def _await(self, part: Part) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while part.is_ready and not self.reason and not part.is_ready():
            if time.monotonic() > deadline:
                self.console.log(f"{part.name} is not ready after {READY_SECONDS:.0f} s; starting the other parts")
                return
            self.turn(0.02)

    def _stop_layers(self) -> None:
        self.reason = self.reason or "an error"
        self.console.log(f"stopping: {self.reason}")
        self.on_stop()
        for layer in reversed(self.layers):
            leaving = [self.children[part.name] for part in layer if part.name in self.children]
            for child in leaving:
                child.terminate()
            deadline = time.monotonic() + STOP_SECONDS
            while any(child.part.name in self.children for child in leaving):
                if self.in_a_hurry or time.monotonic() > deadline:
                    for child in leaving:
                        child.kill()
                self.turn(0.1)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        self.asked_at = self.asked_at or now
        self.in_a_hurry = now - self.asked_at > PATIENCE_SECONDS
        self.stop(signal.Signals(number).name)
