"""Two versions of the site's code with one database, broker and emulator, as during a rolling upgrade."""

import io
import json
import subprocess
import sys
import tarfile
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard.management.supervisor import ports
from tests.support import postgres, waiting
from tests.support.environments import environment

ROOT = Path(__file__).parents[2]
REQUEST = """
import django; django.setup()
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from jobs import spec
from jobs.models import Membership, Policy, Team
from tests.support import samples
try:
    from jobs.requests import request_job
except ImportError:  # the version before
    from jobs.lifecycle import request_job
team, _ = Team.objects.get_or_create(name="vision", project="vision-research")
Policy.objects.get_or_create(team=team, defaults={{"ask_over_usd": 1000}})
user, _ = User.objects.get_or_create(username="owner")
Membership.objects.get_or_create(team=team, user=user, role="engineer")
machine = {{"machineType": "n1-standard-4"}}
for number in range({count}):
    body = samples.body(name="{name}-" + str(number), machine=machine, strategy="STANDARD")
    container = {{"imageUri": "python", "command": ["python", "-c", "print('hello')"]}}
    body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"] = container
    job, _ = spec.read("custom_job", body)
    submission = spec.Submission(kind="custom_job", project=team.project, region="us-central1", job=job)
    request_job(submission=submission, team=team, by=user, expected=timedelta(minutes=1),
                request_key="{name}-" + str(number), now=timezone.now())
"""


def extract(commit: str, folder: Path) -> Path:
    """Write the code of a commit into `folder`. Raise if the commit is not in the history."""
    made = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if made.returncode != 0:
        raise RuntimeError(
            f"The code of {commit} is not in the history here, so upgrading from it cannot be tried: fetch the whole "
            f"history (git fetch --unshallow). git says: {made.stderr.decode()}"
        )
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # available from Python 3.11.4
        archive.extractall(folder)
    return folder


@dataclass
class Version:
    """One version of the code. Each of its parts logs to its own file."""

    name: str
    code: Path
    environment: dict[str, str]
    home: Path
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def run(self, *command: str) -> str:
        """Run a Python program to its end and return what it printed."""
        done = subprocess.run(
            [sys.executable, *command], cwd=self.code, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{self.name}: {command}\n{done.stdout}{done.stderr[-4000:]}"
        return done.stdout

    def start(self, part: str, *command: str) -> "subprocess.Popen[bytes]":
        """Start a part."""
        with (self.home / f"{self.name}-{part}.log").open("ab") as log:
            made = subprocess.Popen(
                [sys.executable, *command], cwd=self.code, env=self.environment, stdout=log, stderr=log
            )
        self.processes.append(made)
        return made

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """Start a worker that logs every task."""
        pool = ["--pool", "threads", "--concurrency", "4", "--without-mingle", "--without-gossip"]
        celery = ["-W", "ignore::UserWarning:celery.platforms", "-m", "celery", "-A", "dashboard.celery"]
        return self.start("worker", *celery, "worker", *pool, "--loglevel", "INFO", "--hostname", self.name)

    def request(self, name: str, count: int) -> None:
        """Request `count` jobs whose names start with `name`."""
        self.run("-c", REQUEST.format(count=count, name=name))

    def log(self, part: str) -> str:
        """Return the log of a part."""
        return (self.home / f"{self.name}-{part}.log").read_text(errors="replace")

    def close(self) -> None:
        """Kill what is still running."""
        for process in self.processes:
            process.kill()
            process.wait()


class Emulator:
    """The emulator of one version, with scripted jobs on an accelerated clock."""

    def __init__(self, version: Version, state: Path) -> None:
        """Start the emulator."""
        port = ports.choose("127.0.0.1")
        self.url = f"http://127.0.0.1:{port}"
        where = ["--host", "127.0.0.1", "--port", str(port), "--state", str(state), "--speed", "120"]
        version.start("emulator", "-m", "emulator", *where)
        waiting.until(self._answers, seconds=30, what="the emulator answers")

    def _answers(self) -> bool:
        try:
            return bool(self.control("health"))
        except OSError:
            return False

    def control(self, path: str) -> Any:
        """Send a request to the control plane."""
        with urllib.request.urlopen(f"{self.url}/_emulator/{path}", timeout=10) as answer:
            return json.loads(answer.read())


def site_environment(home: Path, *, broker: str, **more: str) -> dict[str, str]:
    """Return the environment of the parts of every version. The endpoint is added with the emulator."""
    return environment(
        home / "state",
        0,
        DATABASE_URL=postgres.url(home),
        REDIS_URL=broker,
        DJANGO_SETTINGS_MODULE="dashboard.settings",
        TRAINBOARD_SECRET_KEY="for tests only " + "x" * 40,
        TRAINBOARD_POLL_SECONDS="1",
        TRAINBOARD_SWEEP_SECONDS="0.5",
        TRAINBOARD_CREATES_PER_MINUTE="6000",
        TRAINBOARD_READS_PER_MINUTE="60000",
        TRAINBOARD_LOG_READS_PER_MINUTE="6000",
        TRAINBOARD_LOG_LEVEL="INFO",
        **more,
    )
