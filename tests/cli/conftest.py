"""Fixtures for the command line against a live server. Each test has its own home folder and a token of the owner."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from jobs import transitions
from jobs.clock import database_now
from jobs.models import Job
from tests.support.api import token_of

ROOT = Path(__file__).parents[2]
JOB = """\
workerPoolSpecs:
- machineSpec:
    machineType: a2-highgpu-1g
    acceleratorType: NVIDIA_TESLA_A100
    acceleratorCount: 1
  replicaCount: 1
  containerSpec:
    imageUri: us-docker.pkg.dev/trainboard/samples/penguins:latest
scheduling:
  timeout: {timeout}s
  strategy: SPOT
"""
WAY = ("submitting", "queued", "pending", "running")


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Terminal:
    """A shell with a person's environment."""

    folder: Path
    environment: dict[str, str]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "trainboard_cli", *arguments], cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str, typed: str = "") -> Ran:
        """Run a command to its end."""
        process = self.start(*arguments)
        out, err = process.communicate(typed, timeout=60)
        return Ran(process.returncode, out, err)

    def write(self, name: str, text: str) -> str:
        """Write a file beside the command; return its name."""
        (self.folder / name).write_text(text)
        return name


@pytest.fixture
def new_terminal(tmp_path: Path, live_server: LiveServer) -> Callable[..., Terminal]:
    """`new_terminal(user)` is a shell with a token of that person; with None, without a token."""

    def make(user: User | None) -> Terminal:
        folder = tmp_path / (user.username if user else "nobody")
        folder.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment = {**kept, "HOME": str(folder), "PYTHONPATH": str(ROOT / "cli"), "NO_PROXY": "*"}
        if user is not None:
            environment |= {"TRAINBOARD_URL": live_server.url, "TRAINBOARD_TOKEN": token_of(user)}
        return Terminal(folder, environment)

    return make


@pytest.fixture
def terminal(new_terminal: Callable[..., Terminal], owner: User) -> Terminal:
    """The owner's shell, with a job that is cheap, one that asks for an approval, and one that is refused."""
    shell = new_terminal(owner)
    shell.write("job.yaml", JOB.format(timeout=300))
    shell.write("dear.yaml", JOB.format(timeout=864_000))
    shell.write("bad.yaml", JOB.format(timeout=300).replace("acceleratorCount: 1", "acceleratorCount: 3"))
    return shell


def move(job: Job, *states: str, **changes: Any) -> None:
    """Take a job through states, as workers do."""
    for state in states:
        known = {"remote_name": "projects/1/locations/x/customJobs/1"} if state == "queued" else {}
        more = changes if state == states[-1] else {}
        assert transitions.transition(job, state, now=database_now(), message=f"It is {state} now.", **known, **more)
