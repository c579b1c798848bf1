"""Tests of the page at /_emulator/: its content and buttons."""

import html.parser
import urllib.parse
import urllib.request
from typing import Any

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body, state

PAGE = "/_emulator/"


def look(emulator: Running) -> str:
    """The page's HTML."""
    with urllib.request.urlopen(emulator.url + PAGE, timeout=10) as answer:
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        return str(answer.read().decode())


def press(emulator: Running, **fields: str) -> str:
    """Press a button; return the page it leads to."""
    data = urllib.parse.urlencode(fields).encode()
    with urllib.request.urlopen(emulator.url + PAGE, data=data, timeout=10) as answer:
        return str(answer.read().decode())


def spot(emulator: Running) -> Any:
    """A Spot job that runs."""
    job = emulator.call("POST", JOBS, job_body(name="<b>night run</b>", scheduling={"strategy": "SPOT"}))
    emulator.advance(200)
    return job


class TestPage:
    """Looking and pressing."""

    def test_shows_jobs_with_their_names_escaped(self, scripted: Running) -> None:
        spot(scripted)
        text = look(scripted)

        assert "&lt;b&gt;night run&lt;/b&gt;" in text
        assert "<b>night" not in text
        html.parser.HTMLParser().feed(text)

    def test_preempts(self, scripted: Running) -> None:
        job = spot(scripted)
        assert "Done." in press(scripted, do="preempt", job=job["name"])
        press(scripted, do="advance", seconds="5")

        assert state(scripted, job) == "JOB_STATE_PENDING"

    def test_plans_faults_and_capacity(self, scripted: Running) -> None:
        press(scripted, do="fault", kind="503", method="customJobs.create", times="1")
        press(scripted, do="capacity", plan='{"quotas": {"us-central1": {"custom_model_training_cpus": 3}}}')

        assert scripted.truth()["faults"][0]["kind"] == "503"
        assert "custom_model_training_cpus" in look(scripted)
        press(scripted, do="forget faults")
        press(scripted, do="clear capacity")
        assert scripted.truth()["faults"] == []
        assert scripted.call("GET", "/_emulator/capacity")["plan"] == {}

    def test_chooses_scripts(self, scripted: Running) -> None:
        press(scripted, do="script", match="night*", script="oom")
        job = scripted.call("POST", JOBS, job_body(name="night"))

        assert scripted.truth(job["name"])["jobs"][0]["script"] == "oom"

    def test_says_what_is_wrong(self, scripted: Running) -> None:
        assert "There is no custom job" in press(scripted, do="preempt", job="nobody")
        assert "no such button" in press(scripted, do="explode")
        assert "no JSON" in press(scripted, do="capacity", plan="{")
