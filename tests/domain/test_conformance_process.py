"""Tests that `manage.py conformance` leaves nothing behind when its process is interrupted or killed."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import migrated, waiting
from tests.support.environments import ROOT, environment
from tests.support.running_emulator import Running, running

START_SECONDS, CLEAN_SECONDS = 30.0, 60.0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    """An emulator that runs the programs of jobs as processes."""
    with running(tmp_path / "emulator", speed=1_000) as emulator:
        yield emulator


class Command:
    """Starts the command in a process of its own."""

    def __init__(self, state: Path, service: Running) -> None:
        self._environment = environment(state, 0, TRAINBOARD_VERTEX_ENDPOINT=service.url)
        self._state, self.output = state, state / "recording.jsonl"
        migrated.copy_sqlite(state / migrated.DATABASE)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start it with these arguments."""
        place = ["--project", "apollo-research", "--bucket", "apollo-data", "--output", str(self.output)]
        # A process that is started in the background of a script ignores Ctrl-C, and so would those that it starts.
        hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        main = "import sys; sys.argv = sys.argv[1:]; import runpy; runpy.run_path('manage.py', run_name='__main__')"
        command = [sys.executable, "-c", f"{hears}; {main}", "manage.py", "conformance", *place, *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=ROOT, env=self._environment, **streams)  # type: ignore[call-overload, no-any-return]

    def journal(self) -> list[str]:
        """Return the lines of the journal."""
        return (self._state / "conformance.jsonl").read_text().splitlines()


def jobs(service: Running) -> list[str]:
    """Return the names of all jobs, tuning jobs and pipelines."""
    found = service.truth()
    return [each["name"] for kind in ("jobs", "studies", "pipelines") for each in found[kind]]


def test_kill_9_leaves_nothing_after_the_next_run(tmp_path: Path, service: Running) -> None:
    command = Command(tmp_path / "state", service)
    with command.start(
        "--with", "tuning", "--only", "cancel-running", "--only", "timeout", "--only", "tuning"
    ) as first:
        waiting.until(
            lambda: len(jobs(service)) >= 4, seconds=START_SECONDS, what="two jobs, a tuning job and its trial"
        )
        first.send_signal(signal.SIGKILL)
        first.wait()

    assert len(jobs(service)) >= 4
    assert len(command.journal()) >= 3

    with command.start("--clean") as second:
        text, _ = second.communicate(timeout=CLEAN_SECONDS)

    assert second.returncode == 0, text
    assert "Removing what an earlier run created" in text
    assert jobs(service) == []
    assert command.journal() == []


def test_ctrl_c_leaves_nothing(tmp_path: Path, service: Running) -> None:
    command = Command(tmp_path / "state", service)
    with command.start("--only", "cancel-running", "--only", "timeout") as process:
        waiting.until(lambda: len(jobs(service)) == 2, seconds=START_SECONDS, what="two jobs")
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=CLEAN_SECONDS)

    assert process.returncode == 2, text
    assert "Interrupted." in text
    assert jobs(service) == []
    assert command.journal() == []
    about = json.loads(command.output.read_text().splitlines()[0])
    assert about["ended"] == "Interrupted."


def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path, service: Running) -> None:
    command = Command(tmp_path / "state", service)
    with command.start("--only", "timeout") as first:
        waiting.until(lambda: jobs(service), seconds=START_SECONDS, what="a job")
        with command.start("--clean") as second:
            text, _ = second.communicate(timeout=START_SECONDS)
        assert second.returncode == 2
        assert "has not ended" in text
        assert jobs(service) != []
        first.send_signal(signal.SIGTERM)  # as Ctrl-C
        first.communicate(timeout=CLEAN_SECONDS)

    assert jobs(service) == []
