"""Tests that twenty jobs which fail at the emulator are explained alike on pages and lists, in API and message."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import messages, observation, requests, steps
from jobs.models import Job, Message, Policy, Team
from jobs.queue import installation
from tests.support import samples, waiting
from tests.support.api import caller
from tests.support.clock import Clock, watch_from
from tests.support.running_emulator import Running, running

CPU = {"machineType": "n1-standard-4"}
MAX_SECONDS = 300.0
BEGIN = """import json, os, pathlib, signal, subprocess, sys, time
task = json.loads(os.environ["CLUSTER_SPEC"])["task"]
here = pathlib.Path(__file__)
attempts = here.with_suffix(".attempts")
attempts.write_text(attempts.read_text() + "x" if attempts.exists() else "x")
attempt = len(attempts.read_text())
print("INFO shared memory size 64 GB", flush=True)
"""
LAST = "if (task['type'], task['index']) != ('workerpool1', 1):\n    time.sleep(600)\n"
LOST = """def told_to_stop(*_):
    raise RuntimeError("Connection closed by peer [10.0.0.2]:3411")

signal.signal(signal.SIGTERM, told_to_stop)
"""
RANKS = """for line in (
    "[rank0]: Traceback (most recent call last):", "[rank0]: RuntimeError: NCCL error: remote process exited",
    "[rank1]: Traceback (most recent call last):", '[rank1]:   File "/app/model.py", line 19, in forward',
    "[rank1]: KeyError: 'labels'", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
    "Root Cause (first observed failure):", "[0]:", "  rank      : 1 (local_rank: 1)",
):
    print(line, file=sys.stderr, flush=True)
sys.exit(1)
"""
CHAINED = """try:
    {}["lr"]
except KeyError as error:
    raise ValueError("no learning rate") from error
"""
CHILD = """inner = here.with_name("inner_" + here.name)
inner.write_text("def step():\\n    1 / 0\\nstep()")
subprocess.run([sys.executable, str(inner)], check=True)
"""
ARGUMENTS = "import argparse\nargparse.ArgumentParser('train.py').parse_args(['--lrate', '0.1'])\n"
DIFFERENT = "if attempt == 1:\n    os.write(2, b'ValueError: first attempt\\n'); os.abort()\n{}['second']\n"
SECOND = "if attempt == 1:\n    time.sleep(600)\n[][7]\n"


class Case(NamedTuple):
    """A program, and how the title of its failure begins everywhere; `words` are those that the page shows too."""

    program: str
    title: str
    words: str = ""
    extra: int = 0
    changes: dict[str, Any] = {}  # read only
    is_preempted: bool = False


CASES = {
    "bug": Case("def f(batch):\n    return batch[513]\n\nf([1])\n", "IndexError at {file}:9 in workerpool0-0"),
    "disk": Case("raise OSError(28, 'No space left on device')", "OSError at {file}:8 in workerpool0-0: The disk"),
    "four": Case(
        LAST + "class CorruptShard(Exception):\n    pass\n\nraise CorruptShard('part-31 differs')\n",
        "CorruptShard at {file}:13 in workerpool1-1", "part-31 differs", extra=3,
    ),
    "lost": Case(LOST + LAST + "{}['labels']", "KeyError at {file}:14 in workerpool1-1", "KeyError: 'labels'", extra=3),
    "ranks": Case(RANKS, "KeyError at model.py:19 in workerpool0-0 (rank 1)"),
    "chained": Case(CHAINED, "KeyError at {file}:9 in workerpool0-0"),
    "diverged": Case("sys.exit('gradient norm is inf at step 812')", "The training diverged", "is inf at step 812"),
    "quoted": Case("raise KeyError('out of memory policy')", "KeyError at {file}:8 in workerpool0-0"),
    "module": Case("import apex_not_there", "ModuleNotFoundError at {file}:8 in workerpool0-0"),
    "arguments": Case(ARGUMENTS, "The program did not accept its arguments", "unrecognized arguments: --lrate"),
    "abort": Case("os.abort()", "The program failed", "Vertex AI tried it again three times"),
    "different": Case(DIFFERENT, "KeyError at {file}:10 in workerpool0-0", "KeyError: 'second'"),
    "spot": Case(
        SECOND, "IndexError at {file}:10 in workerpool0-0", changes={"strategy": "SPOT"}, is_preempted=True
    ),
    "pipeline": Case("[][3]", "IndexError at {file}:8 in workerpool0-0", changes={"kind": "training_pipeline"}),
    "trials": Case("[][4]", "IndexError at {file}:8 in", changes={"kind": "hyperparameter_tuning_job", "trials": 2}),
    "address": Case(
        "open('gs://team/data.csv')", "FileNotFoundError at {file}:8 in workerpool0-0: A gs:// address was opened"
    ),
    "child": Case(CHILD, "ZeroDivisionError at inner_{file}:2 in workerpool0-0"),
    "syntax": Case("x = (1,\n", "SyntaxError at {file}:8 in workerpool0-0"),
    "killed": Case("os.kill(os.getpid(), signal.SIGKILL)", "Out of memory"),
    "own": Case("class Stop(BaseException):\n    pass\n\nraise Stop", "Stop at {file}:11 in workerpool0-0"),
}  # fmt: skip


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


def request(tmp_path: Path, name: str, case: Case, team: Team, owner: User, clock: Clock) -> Job:
    source = tmp_path / f"{name}.py"
    source.write_text(BEGIN + case.program)
    changes = {"strategy": "STANDARD"} | case.changes
    wanted = samples.submission(machine=CPU, extra_replicas=case.extra, name=name, **changes)
    pools = tuple(
        pool.but(container_spec=pool.container_spec.but(command=("python3", str(source)), args=()))
        for pool in wanted.job_spec.worker_pool_specs
    )
    whole = replace(wanted.with_job_spec(wanted.job_spec.but(worker_pool_specs=pools)), confirmed=frozenset())
    return requests.request_job(
        submission=whole, team=Team.objects.get(pk=team.pk), by=owner, expected=timedelta(hours=1), request_key=name,
        now=clock.now,
    )  # fmt: skip


def test_page_board_history_api_and_message_agree(
    cloud: Running, clock: Clock, team: Team, owner: User, stranger: User, tmp_path: Path
) -> None:
    Policy.objects.filter(team=team).update(ask_over_usd=100_000)
    jobs = {name: request(tmp_path, name, case, team, owner, clock) for name, case in CASES.items()}
    for job in jobs.values():
        steps.advance(job.pk, clock=clock.clock)
    finish(jobs, cloud, clock)

    client, other = Client(), Client()
    client.force_login(owner)
    other.force_login(stranger)
    board, history = (unescape(client.get(address).content.decode()) for address in ("/", "/history/"))
    messages.route_messages(clock.now)
    wrong = []
    for name, case in CASES.items():
        job = jobs[name]
        known = caller(owner).get(f"/jobs/{job.pk}").json()["diagnosis"]
        title = known["title"]
        page = unescape(client.get(f"/jobs/{job.pk}/").content.decode())
        message = Message.objects.select_related("job__team", "job__owner", "event").get(job=job, kind="failed")
        places = {"page": page, "board": board, "history": history, "message": messages.headline_of(message)}
        missing = [place for place, text in places.items() if title not in text]
        expected = case.title.format(file=f"{name}.py")
        if missing or not title.startswith(expected) or case.words not in page:
            wrong.append((name, title, expected, missing, known["failure"], known["retried"]))
        assert other.get(f"/jobs/{job.pk}/").status_code == 404
    assert not wrong


def finish(jobs: dict[str, Job], cloud: Running, clock: Clock) -> None:
    """Observe until all jobs have ended and their logs are complete. Preempt those that are to be."""
    until, preempted = time.monotonic() + MAX_SECONDS, set[str]()
    while time.monotonic() < until:
        waiting.pause(0.2)  # the programs run in real time
        catch_up(clock, cloud)
        clock.forward(seconds=2)
        for scope_id in steps.due_scopes(clock.now):
            steps.observe(scope_id, clock=clock.clock)
        for feed_id in steps.due_feeds(clock.now):
            observation.read_feed(feed_id, now=clock.now)
        for name, job in jobs.items():
            job.refresh_from_db()
            has_begun = job.log_lines.filter(replica="workerpool0-0").exists()
            if CASES[name].is_preempted and name not in preempted and has_begun:
                cloud.preempt(job.remote_name)
                preempted.add(name)
        if all(job.is_finished and job.log_complete and job.explanation for job in jobs.values()):
            return
    pytest.fail(str([(name, job.state, job.error) for name, job in jobs.items() if not job.log_complete]))
