"""Tests that a program which fails at the emulator is explained alike on its page, on the board, in API and message."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import messages, observation, requests, spec, steps
from jobs.models import Job, Message, Policy, Team
from jobs.queue import installation
from tests.support import samples
from tests.support.api import caller
from tests.support.clock import Clock, watch_from
from tests.support.running_emulator import Running, running

CPU = {"machineType": "n1-standard-4"}
MAX_LOOKS = 60
BEGIN = """import json, os, sys, time
task = json.loads(os.environ["CLUSTER_SPEC"])["task"]
print("INFO shared memory size 64 GB", flush=True)
"""
BUG = "def forward(batch):\n    return batch[513]\n\nforward([1, 2])\n"
DISK = "raise OSError(28, 'No space left on device')\n"
LAST = "if task['type'] != 'workerpool1' or task['index'] != 1:\n    time.sleep(600)\n"
LAST_FAILS = LAST + "class CorruptShard(Exception):\n    pass\n\nraise CorruptShard('checksum of part-00031 differs')\n"
PROGRAMS = [
    pytest.param(BUG, 0, "IndexError", 5, "workerpool0-0", "list index out of range", id="bug"),
    pytest.param(DISK, 0, "OSError", 4, "workerpool0-0", "The disk is full", id="disk"),
    pytest.param(
        LAST_FAILS, 3, "CorruptShard", 9, "workerpool1-1", "checksum of part-00031 differs", id="four replicas"
    ),
]


@pytest.fixture
def cloud(tmp_path: Path, clock: Clock, settings: Any, db: None) -> Iterator[Running]:
    """A Vertex AI that runs the programs of jobs, which the site's settings point to."""
    with running(tmp_path / "emulator", speed=1_000) as emulator:
        settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = emulator.url
        settings.POLL_INTERVAL = timedelta(seconds=1)
        catch_up(clock, emulator)
        watch_from(clock.now)
        installation.load_installation(clock.now)
        yield emulator


def catch_up(clock: Clock, cloud: Running) -> None:
    clock.now = max(clock.now, datetime.fromisoformat(cloud.truth()["now"]))


def submission(tmp_path: Path, program: str, extra: int) -> spec.Submission:
    source = tmp_path / "train.py"
    source.write_text(BEGIN + program)
    wanted = samples.submission(strategy="STANDARD", machine=CPU, extra_replicas=extra)
    pools = tuple(
        pool.but(container_spec=pool.container_spec.but(command=("python3", str(source)), args=()))
        for pool in wanted.job_spec.worker_pool_specs
    )
    return replace(wanted.with_job_spec(wanted.job_spec.but(worker_pool_specs=pools)), confirmed=frozenset())


@pytest.mark.parametrize(("program", "extra", "exception", "line", "replica", "words"), PROGRAMS)
def test_page_board_api_and_message_agree(
    cloud: Running, clock: Clock, team: Team, owner: User, stranger: User, tmp_path: Path,
    program: str, extra: int, exception: str, line: int, replica: str, words: str,
) -> None:  # fmt: skip
    Policy.objects.filter(team=team).update(ask_over_usd=10_000)
    job = requests.request_job(
        submission=submission(tmp_path, program, extra), team=Team.objects.get(pk=team.pk), by=owner,
        expected=timedelta(hours=1), request_key="once", now=clock.now,
    )  # fmt: skip
    steps.advance(job.pk, clock=clock.clock)
    finish(job, cloud, clock)

    title = f"{exception} at train.py:{line} in {replica}"
    client = Client()
    client.force_login(owner)
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert title in page
    assert words in page
    assert title in client.get("/").content.decode()
    known = caller(owner).get(f"/jobs/{job.pk}").json()["diagnosis"]
    assert known["title"].startswith(title)
    assert (known["failure"]["line"], known["failure"]["replica"]) == (line, replica)
    messages.route_messages(clock.now)
    message = Message.objects.select_related("job__team", "job__owner", "event").get(job=job, kind="failed")
    assert title in messages.headline_of(message)
    client.force_login(stranger)
    assert client.get(f"/jobs/{job.pk}/").status_code == 404


def finish(job: Job, cloud: Running, clock: Clock) -> None:
    """Observe until the job has ended and its log is complete."""
    for _look in range(MAX_LOOKS):
        catch_up(clock, cloud)
        clock.forward(seconds=2)
        for scope_id in steps.due_scopes(clock.now):
            steps.observe(scope_id, clock=clock.clock)
        for feed_id in steps.due_feeds(clock.now):
            observation.read_feed(feed_id, now=clock.now)
        job.refresh_from_db()
        if job.is_finished and job.explanation and job.explanation.get("failure"):
            return
    pytest.fail(f"{job.state} {job.error} {job.explanation}")
