"""Tests of `python -m emulator`: its output, refused options, and what remains after a kill."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, finished, log_texts, python, until

ROOT = Path(__file__).resolve().parents[3]
LONG = """
import os, pathlib, subprocess, sys, time
again = pathlib.Path("again")
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], start_new_session=True)
print(os.getpid(), helper.pid, flush=True)
if not again.exists():
    again.touch()
    time.sleep(120)
"""


class Commands:
    """Starts emulators and sees to it that none is left."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *more: str) -> Running:
        """Start one on a free port."""
        arguments = ["--port", "0", "--state", str(self.state), "--speed", "1000", *more]
        process = subprocess.Popen(
            [sys.executable, "-m", "emulator", *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        self.started.append(process)
        assert process.stdout is not None
        found = re.fullmatch(r"emulator listening on (http://127\.0\.0\.1:\d+)\n", process.stdout.readline())
        assert found is not None
        return Running(found[1], self.state)

    def end(self, number: int) -> int:
        """Send the last one a signal and wait; return its exit status."""
        process = self.started[-1]
        process.send_signal(number)
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()
        return process.returncode


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    """A way to start emulators on one folder."""
    made = Commands(tmp_path / "state")
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_grpc_is_told_and_does_not_start_without_its_packages_or_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert (
            refused(tmp_path, "--grpc", port)
            == f"cannot listen on 127.0.0.1:{port}: [Errno 98] Address already in use\n"
        )
    lacking = "import sys; sys.modules['grpc'] = None; from emulator.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", lacking, "--port", "0", "--grpc", "0", "--state", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "make grpc" in ended.stderr

    command = [sys.executable, "-m", "emulator", "--port", "0", "--grpc", "0", "--state", str(tmp_path / "state")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        line = process.stdout.readline()
        assert re.fullmatch(rf"gRPC on localhost:\d+, certificate {tmp_path}/state/grpc-certificate.pem\n", line)
        process.terminate()
        assert process.wait(20) in (0, -signal.SIGTERM)
        assert process.stderr.read() == ""


def test_sockets_that_a_killed_one_left_are_removed(commands: Commands) -> None:
    note = commands.state / "grpc-folder"
    emulator = commands.start("--grpc", "0")
    until(lambda: emulator.call("GET", "/_emulator/health"))
    left = Path(note.read_text())
    commands.end(signal.SIGKILL)
    assert left.is_dir()

    commands.start("--grpc", "0")
    fresh = Path(note.read_text())
    assert not left.exists()
    assert fresh.is_dir()
    commands.end(signal.SIGTERM)
    assert not fresh.exists()


def refused(state: Path, *more: str) -> str:
    """Return the error message of a start that fails."""
    command = [sys.executable, "-m", "emulator", "--port", "0", "--state", str(state), *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes(emulator: Running, job: dict[str, Any]) -> list[int]:
    """The process ids that the newest run of LONG has printed."""
    lines = until(lambda: log_texts(emulator, job))
    return [int(part) for part in lines[-1].split()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestKilled:
    """However the emulator ends, its replicas end; its jobs do not."""

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    def test_no_process_outlives_it(self, commands: Commands, number: int) -> None:
        emulator = commands.start()
        pids = processes(emulator, emulator.call("POST", JOBS, python(LONG)))
        assert all(map(is_alive, pids))
        commands.end(number)

        until(lambda: not any(map(is_alive, pids)), seconds=5)

    def test_a_job_goes_on_after_kill_9(self, commands: Commands) -> None:
        emulator = commands.start()
        job = emulator.call("POST", JOBS, python(LONG))
        processes(emulator, job)
        commands.end(signal.SIGKILL)
        emulator = commands.start()

        assert finished(emulator, job)["state"] == "JOB_STATE_SUCCEEDED"
        assert len(log_texts(emulator, job)) == 3
        assert len(emulator.call("GET", JOBS)["customJobs"]) == 1

    def test_a_killed_guard_takes_its_replica_along(self, commands: Commands) -> None:
        emulator = commands.start()
        pid = processes(emulator, emulator.call("POST", JOBS, python(LONG)))[0]
        guard = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(guard, signal.SIGKILL)

        until(lambda: not is_alive(pid), seconds=5)


class TestStart:
    """What it refuses to do."""

    @pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.1", "example.com", "::"])
    def test_refuses_other_than_loopback(self, tmp_path: Path, host: str) -> None:
        command = [sys.executable, "-m", "emulator", "--host", host, "--port", "0", "--state", str(tmp_path)]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=20, check=False)

        assert ended.returncode == 2
        assert "loopback" in ended.stderr

    def test_refuses_a_folder_that_another_one_uses(self, commands: Commands) -> None:
        commands.start()
        command = [sys.executable, "-m", "emulator", "--port", "0", "--state", str(commands.state)]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=20, check=False)

        assert ended.returncode == 2
        assert "another emulator uses" in ended.stderr

    def test_ends_cleanly_when_asked(self, commands: Commands) -> None:
        emulator = commands.start("--scripted", "--reclaim-spot", "25,40")

        assert emulator.call("GET", "/_emulator/health")["status"] == "ok"
        assert commands.end(signal.SIGTERM) in (0, -signal.SIGTERM)


def test_serves_what_a_catalogue_adds(commands: Commands, tmp_path: Path) -> None:
    file = tmp_path / "catalogue.json"
    machine = {"n5-standard-8": {"vcpus": 8, "memoryGib": 32, "accelerators": {"NVIDIA_B300": [2]}}}
    enums = {"AcceleratorType": {"NVIDIA_B300": 90}}
    messages = {"MachineSpec": {"memoryMode": "string"}}
    catalogue = {"machines": machine, "regions": ["europe-west20"], "messages": messages, "enums": enums}
    file.write_text(json.dumps(catalogue))
    emulator = commands.start("--scripted", "--catalogue", str(file))
    spec = {"machineType": "n5-standard-8", "acceleratorType": 90, "acceleratorCount": 2, "memory_mode": "FAST"}
    pool = {"machineSpec": spec, "replicaCount": "1", "containerSpec": {"imageUri": "i"}}

    path = "/v1/projects/p/locations/europe-west20/customJobs"
    made = emulator.call("POST", path, {"displayName": "x", "jobSpec": {"workerPoolSpecs": [pool]}})

    assert made["jobSpec"]["workerPoolSpecs"][0]["machineSpec"] == {
        "machineType": "n5-standard-8",
        "acceleratorType": "NVIDIA_B300",
        "acceleratorCount": 2,
        "memoryMode": "FAST",
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "a catalogue is an object"),
        ('{"prices": {}}', "a catalogue is an object"),
        ('{"machines": {"n5": {"vcpus": "many"}}}', "the machine n5"),
        ('{"regions": "mars"}', "a list of names"),
        ('{"messages": {"CustomJobSpec": {"x": "colour"}}}', "unknown type colour"),
        ('{"messages": {"CustomJobSpec": {"x": "enum Colour"}}}', "unknown enum"),
        ("{", "Expecting"),
    ],
)
def test_refuses_what_is_no_catalogue(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "catalogue.json"
    file.write_text(content)
    command = [
        sys.executable,
        "-m",
        "emulator",
        "--port",
        "0",
        "--state",
        str(tmp_path / "s"),
        "--catalogue",
        str(file),
    ]

    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=30, check=False)

    assert ran.returncode == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
