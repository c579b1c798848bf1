"""Tests of scripts with their own times: how long a job waits and runs, and when it is preempted."""

import sqlite3
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from emulator.state.store import FILE
from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, job_body

QUEUED = ["PENDING", "QUEUED", "PENDING"]
"""What a new job reads until it runs."""


def history(emulator: Running, job: dict[str, Any]) -> list[str]:
    return [step["state"].removeprefix("JOB_STATE_") for step in emulator.truth(job["name"])["jobs"][0]["history"]]


def test_replace_those_of_the_script_for_jobs_that_match(scripted: Running) -> None:
    scripted.script("happy", "mine", queue_seconds=100, run_seconds=60, preempt_after=[40])
    spot = {"strategy": "SPOT"}
    mine, other = (scripted.call("POST", JOBS, job_body(name=name, scheduling=spot)) for name in ("mine", "other"))
    scripted.advance(90)
    assert history(scripted, mine) == history(scripted, other) == QUEUED
    phases = [scripted.truth(job["name"])["jobs"][0]["phase"] for job in (mine, other)]
    assert phases == ["queued", "provisioning"]

    scripted.advance(1_000)

    assert history(scripted, mine) == [*QUEUED, "RUNNING", "PENDING", "RUNNING", "SUCCEEDED"]
    assert history(scripted, other) == [*QUEUED, "RUNNING", "SUCCEEDED"]


@pytest.mark.parametrize(
    "times",
    [{"run_seconds": -1}, {"run_seconds": "long"}, {"capacity": 1}, {"preempt_after": 3}, {"run_seconds": True}],
)
def test_that_are_none_are_refused(scripted: Running, times: dict[str, Any]) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        scripted.call("POST", "/_emulator/script", {"match": "*", "script": "happy", "times": times})

    with refused.value as answer:
        assert answer.code == 400
    assert scripted.call("GET", "/_emulator/script")["rules"] == []


def test_a_job_that_an_earlier_version_has_written_keeps_its_script(tmp_path: Path) -> None:
    with running(tmp_path, scripted=True) as emulator:
        emulator.script("preempted-once", run_seconds=90)
        job = emulator.call("POST", JOBS, job_body(scheduling={"strategy": "SPOT"}))
        while history(emulator, job)[-1] != "RUNNING":
            emulator.advance(5)
    with sqlite3.connect(tmp_path / FILE) as database:
        words = "replace(replace(data, '\"script', '\"story'), '\"script_times', '\"story_times')"
        assert database.execute(f"update records set data = {words} where data like '%script:preempt%'").rowcount == 1
    database.close()

    with running(tmp_path, scripted=True) as emulator:
        emulator.advance(1_000)

        assert history(emulator, job) == [*QUEUED, "RUNNING", "PENDING", "RUNNING", "SUCCEEDED"]


def test_the_earlier_name_of_a_script_is_understood(scripted: Running) -> None:
    scripted.call("POST", "/_emulator/script", {"match": "*", "story": "oom"})

    made = scripted.call("POST", JOBS, job_body())

    assert scripted.truth(made["name"])["jobs"][0]["script"] == "oom"
