"""The stage of real work: every replica is a process behind a guard, its output becomes log entries."""

import asyncio
import contextlib
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

from emulator.lifecycle.clock import Clock
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.stage import Exit
from emulator.lifecycle.times import START_ERROR
from emulator.protocol.documents import Document
from emulator.replicas import capture, ports
from emulator.replicas.images import Images
from emulator.replicas.launch import START_FAILURE, CannotStart, Launch, prepare, refusal
from emulator.state.folders import Folders
from emulator.state.logs import ENTRIES_PER_JOB, Line, Logs
from emulator.state.records import Job

GUARD = Path(__file__).with_name("guard.py")
CHUNK = 64 * 1024
LINES_PER_SECOND = 2_000
log = logging.getLogger("emulator")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one replica may use; 0 = no limit."""

    memory_mib: int = 0
    cpu_seconds: int = 0
    seconds: int = 0

    def arguments(self) -> list[str]:
        """Return the guard's options."""
        given = {"--memory-mib": self.memory_mib, "--cpu-seconds": self.cpu_seconds, "--seconds": self.seconds}
        return [part for name, value in given.items() if value for part in (name, str(value))]


class Player:
    """One running replica."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.orders = b""
        self.task: asyncio.Task[None] | None = None

    def order(self, letter: bytes) -> None:
        """Tell the guard, at once or as soon as it is there."""
        self.orders += letter
        if self.process is not None and self.process.stdin is not None and not self.process.stdin.is_closing():
            self.process.stdin.write(letter)


class Processes:
    """Implements `lifecycle.stage.Stage`."""

    def __init__(
        self, engine: Engine, logs: Logs, clock: Clock, folders: Folders, limits: Limits, images: Images
    ) -> None:
        self._engine, self._logs, self._clock, self._folders, self._limits = engine, logs, clock, folders, limits
        self._images = images
        self._players: dict[tuple[str, str], Player] = {}
        self._is_closing = False
        self.storage = ""
        """The emulator's own address, for Google's storage client in a replica."""

    def refusal(self, job: Job) -> Document | None:
        """Return why the job's images cannot be had."""
        return refusal(job, self._images)

    def start(self, job: Job, replica: str) -> None:
        """Start a replica's process soon; an emulator that is closing starts none: nothing would wait for its end."""
        if self._is_closing:
            return
        ports.assign(job)
        player = Player()
        self._players[job.name, replica] = player
        player.task = asyncio.get_running_loop().create_task(self._play(job, replica, player))

    def stop(self, job: Job, replica: str) -> None:
        """Send SIGTERM."""
        if player := self._players.get((job.name, replica)):
            player.order(b"T")

    def kill(self, job: Job, replica: str) -> None:
        """Send SIGKILL to everything the replica has started."""
        if player := self._players.get((job.name, replica)):
            player.order(b"K")

    def cue(self, job: Job, key: str) -> None:
        """Processes need no timers."""

    def queue_seconds(self, job: Job, usual: float) -> float:  # noqa: ARG002
        """Return how long the job stands in the queue at speed 1."""
        return usual

    def error_seconds(self, job: Job) -> float:  # noqa: ARG002
        """Errors come with the end."""
        return 0.0

    def survives(self, job: Job) -> bool:  # noqa: ARG002
        """Processes die with the emulator."""
        return False

    def finishes_first(self, job: Job) -> bool:  # noqa: ARG002
        """A cancelled process is cancelled."""
        return False

    async def close(self) -> None:
        """Kill every replica and wait for its end; their jobs go on when the emulator is started again."""
        self._is_closing = True
        tasks = [player.task for player in self._players.values() if player.task is not None]
        for player in self._players.values():
            player.order(b"K")
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _play(self, job: Job, replica: str, player: Player) -> None:
        try:
            launch = await asyncio.to_thread(prepare, job, replica, self._folders, self._images, storage=self.storage)
            how = await self._run(job, replica, player, launch)
        except CannotStart as problem:
            how = Exit(START_ERROR, "StartError", f" Termination log message: {problem}")
        except OSError as problem:
            how = Exit(START_ERROR, "StartError", f" Termination log message: {START_FAILURE}{problem}")
        if self._players.get((job.name, replica)) is player:
            del self._players[job.name, replica]
        if not self._is_closing:
            self._engine.exited(job, replica, how)

    async def _run(self, job: Job, replica: str, player: Player, launch: Launch) -> Exit:
        command = [sys.executable, "-I", "-S", str(GUARD), *self._limits.arguments(), "--", *launch.arguments]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=launch.folder,
            env=launch.environment,
            start_new_session=True,
        )
        player.process = process
        if player.orders and process.stdin is not None:
            process.stdin.write(player.orders)
        tail = capture.Tail()
        assert process.stdout is not None
        assert process.stderr is not None
        await asyncio.gather(
            self._listen(job, replica, process.stdout, "stdout", None),
            self._listen(job, replica, process.stderr, "stderr", tail),
        )
        code = await process.wait()
        if process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                await process.stdin.wait_closed()
        if code == START_ERROR and tail.text().startswith(START_FAILURE):
            return Exit(code, "StartError", f" Termination log message: {tail.text()}")
        return Exit(code if code >= 0 else 128 - code, "Error", tail.text())

    async def _listen(
        self, job: Job, replica: str, stream: asyncio.StreamReader, name: str, tail: capture.Tail | None
    ) -> None:
        """Turn a stream into log lines; who talks too fast has to wait, as a full pipe makes it."""
        splitter = capture.Splitter()
        while data := await stream.read(CHUNK):
            texts = list(splitter.feed(data))
            self._note(job, replica, name, texts, tail)
            if len(texts) > LINES_PER_SECOND // 10 and self._logs.count(job.id) <= ENTRIES_PER_JOB:
                await asyncio.sleep(len(texts) / LINES_PER_SECOND)
        self._note(job, replica, name, list(splitter.end()), tail)

    def _note(self, job: Job, replica: str, name: str, texts: list[str], tail: capture.Tail | None) -> None:
        now = self._clock.now()
        if tail is not None:
            for text in texts:
                tail.add(text)
        if self._logs.count(job.id) > ENTRIES_PER_JOB:
            return
        lines: list[Line] = [capture.line(text, stream=name, task=replica, now=now) for text in texts if text]
        self._logs.write(job, lines)
