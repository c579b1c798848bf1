"""Run replicas as processes, each with a guard. Their output becomes log entries."""

import asyncio
import contextlib
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from emulator.lifecycle.engine import Engine
from emulator.lifecycle.interfaces import Exit
from emulator.lifecycle.times import START_ERROR_EXIT
from emulator.protocol.documents import Document
from emulator.replicas import output
from emulator.replicas.images import Images
from emulator.replicas.launch import START_FAILURE, CannotStart, Launch, image_error, prepare
from emulator.replicas.usage import SAMPLE_SECONDS, Usage, cpu_seconds
from emulator.state.folders import Folders
from emulator.state.logs import MAX_ENTRIES_PER_JOB
from emulator.state.records import Job

GUARD = Path(__file__).with_name("guard.py")
CHUNK = 64 * 1024
MAX_LINES_PER_SECOND = 2_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one replica, 0 for no limit."""

    memory_mib: int = 0
    cpu_seconds: int = 0
    seconds: int = 0

    def arguments(self) -> list[str]:
        """Return the guard's options."""
        options = {"--memory-mib": self.memory_mib, "--cpu-seconds": self.cpu_seconds, "--seconds": self.seconds}
        return [part for name, value in options.items() if value for part in (name, str(value))]


class RunningReplica:
    """The process of one running replica."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.commands = b""
        self.task: asyncio.Task[None] | None = None

    def send(self, command: bytes) -> None:
        """Send a command to the guard, at once or when it has started."""
        self.commands += command
        if self.process is not None and self.process.stdin is not None and not self.process.stdin.is_closing():
            self.process.stdin.write(command)


class ProcessRunner:
    """Implements `lifecycle.interfaces.ReplicaRunner`. `storage` is the emulator's address for clients in a replica."""

    def __init__(self, engine: Engine, folders: Folders, limits: Limits, images: Images) -> None:
        self._engine, self._folders, self._limits, self._images = engine, folders, limits, images
        self._logs, self._clock = engine.runtime.logs, engine.runtime.clock
        self._running: dict[tuple[str, str], RunningReplica] = {}
        self._is_closing = False
        self.storage = ""
        self.usage = Usage()

    def start_error(self, job: Job) -> Document | None:
        """Return the outcome if an image of the job cannot be pulled, else None."""
        return image_error(job, self._images)

    def start(self, job: Job, replica: str) -> None:
        """Start a replica's process soon.

        An emulator that is closing starts none, because nothing would wait for its end.
        """
        if self._is_closing:
            return
        assign_ports(job)
        running = self._running[job.name, replica] = RunningReplica()
        running.task = asyncio.get_running_loop().create_task(self._run(job, replica, running))

    def stop(self, job: Job, replica: str) -> None:
        """Send SIGTERM."""
        if running := self._running.get((job.name, replica)):
            running.send(b"T")

    def kill(self, job: Job, replica: str) -> None:
        """Send SIGKILL to all processes that the replica has started."""
        if running := self._running.get((job.name, replica)):
            running.send(b"K")

    async def close(self) -> None:
        """Kill every replica and wait for its end. Their jobs continue when the emulator is started again."""
        self._is_closing = True
        tasks = [running.task for running in self._running.values() if running.task is not None]
        for running in self._running.values():
            running.send(b"K")
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, job: Job, replica: str, running: RunningReplica) -> None:
        try:
            launch = await asyncio.to_thread(prepare, job, replica, self._folders, self._images, storage=self.storage)
            how = await self._execute(job, replica, running, launch)
        except CannotStart as problem:
            how = Exit(START_ERROR_EXIT, "StartError", f" Termination log message: {problem}")
        except OSError as problem:
            how = Exit(START_ERROR_EXIT, "StartError", f" Termination log message: {START_FAILURE}{problem}")
        # The engine may have restarted the replica in the meantime, so another process may be registered.
        if self._running.get((job.name, replica)) is running:
            del self._running[job.name, replica]
        if not self._is_closing:
            self._engine.exited(job, replica, how)

    async def _execute(self, job: Job, replica: str, running: RunningReplica, launch: Launch) -> Exit:
        # -I: the guard ignores the replica's PYTHON* variables and its folder.
        command = [sys.executable, "-I", "-S", str(GUARD), *self._limits.arguments(), "--", *launch.arguments]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=launch.folder,
            env=launch.environment,
            start_new_session=True,  # Ctrl-C in a terminal reaches only the emulator, which ends its replicas
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        running.process = process
        process.stdin.write(running.commands)
        tail = output.Tail()
        sampling = asyncio.get_running_loop().create_task(self._sample(job, replica, process.pid))
        await asyncio.gather(
            self._log_stream(job, replica, process.stdout, "stdout", None),
            self._log_stream(job, replica, process.stderr, "stderr", tail),
        )
        code = await process.wait()
        sampling.cancel()
        process.stdin.close()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await process.stdin.wait_closed()
        if code == START_ERROR_EXIT and tail.text().startswith(START_FAILURE):
            return Exit(code, "StartError", f" Termination log message: {tail.text()}")
        return Exit(code if code >= 0 else 128 - code, "Error", tail.text())

    async def _sample(self, job: Job, replica: str, pid: int) -> None:
        """Record the processor usage of the replica's processes every SAMPLE_SECONDS, if the system reports it."""
        since, before = self._clock.now(), await asyncio.to_thread(cpu_seconds, pid)
        while before is not None:
            await asyncio.sleep(SAMPLE_SECONDS)
            used, now = await asyncio.to_thread(cpu_seconds, pid), self._clock.now()
            if used is not None:
                self.usage.add(job.name, replica, since=since, until=now, seconds=used - before)
            since, before = now, used

    async def _log_stream(
        self, job: Job, replica: str, stream: asyncio.StreamReader, name: str, tail: output.Tail | None
    ) -> None:
        """Turn a stream into log lines. A replica that writes too fast has to wait, as for a full pipe."""
        splitter = output.LineSplitter()
        while data := await stream.read(CHUNK):
            texts = list(splitter.feed(data))
            self._log_lines(job, replica, name, texts, tail)
            if len(texts) > MAX_LINES_PER_SECOND // 10 and self._logs.count(job.id) <= MAX_ENTRIES_PER_JOB:
                await asyncio.sleep(len(texts) / MAX_LINES_PER_SECOND)
        self._log_lines(job, replica, name, list(splitter.end()), tail)

    def _log_lines(self, job: Job, replica: str, name: str, texts: list[str], tail: output.Tail | None) -> None:
        now = self._clock.now()
        if tail is not None:
            for text in texts:
                tail.add(text)
        if self._logs.count(job.id) > MAX_ENTRIES_PER_JOB:
            return
        lines = [output.log_line(text, stream=name, task=replica, now=now) for text in texts if text]
        self._logs.write(job, lines)


def assign_ports(job: Job) -> None:
    """Assign every replica of a job a free port, which is kept over restarts, so that they reach each other."""
    missing = [replica for replica in job.replica_names if replica not in job.ports]
    # Every probe stays open until all ports are assigned, or the system could return a port twice.
    with contextlib.ExitStack() as stack:
        for replica in missing:
            probe = stack.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            job.ports[replica] = probe.getsockname()[1]
