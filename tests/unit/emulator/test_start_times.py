"""Tests of `startTime`: provisional while a job waits, settled when it runs, at every speed, and after a restart."""

import json
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, START, job_body, python, stamp_of
from tests.unit.emulator.test_scripts import document, facts, submit

Start = Callable[..., Running]
SPOT = {"strategy": "SPOT"}
SCRIPTS = ["short", "oom", "preempted-once", "stockout", "image", "segfault"]
SPEEDS = [0.5, 1, 30, 1_000, 1_000_000]
PROVISIONAL, SETTLED = "provisional", "settled"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start emulators with options."""
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(
            running(tmp_path / "state", **({"scripted": True, "is_waited_for": False} | more))
        )


def kind_of(job: dict[str, Any]) -> str:
    """What the start of a job is by the rule that readers have: no fraction, and a second after the creation."""
    if "startTime" not in job:
        return "none"
    is_late = stamp_of(job["startTime"]).timestamp() >= stamp_of(job["createTime"]).timestamp() + 1
    return SETTLED if "." not in job["startTime"] and is_late else PROVISIONAL


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("speed", SPEEDS)
def test_keep_their_floors_at_every_speed(start: Start, script: str, speed: float) -> None:
    is_late = (SCRIPTS.index(script) + SPEEDS.index(speed)) % 2  # at each speed, and for each script
    emulator = start(start=START + 0.999_999 * is_late, speed=speed)
    job = submit(emulator, script, scheduling=SPOT)
    seen = [job]
    while not seen[-1]["state"].endswith(("FAILED", "SUCCEEDED")):
        emulator.advance(0.1 if len(seen) < 80 else 20)
        seen.append(document(emulator, job))
    moments = [(step["state"], stamp_of(step["at"])) for step in facts(emulator, job)["history"]]

    assert [state for state, _ in moments[:2]] == ["JOB_STATE_PENDING", "JOB_STATE_QUEUED"]
    runs = [at for state, at in moments if state == "JOB_STATE_RUNNING"]
    for shown in seen:
        kind = kind_of(shown)
        assert kind == (SETTLED if shown["state"] == "JOB_STATE_RUNNING" else kind)
        if kind == SETTLED:
            assert stamp_of(shown["startTime"]) <= max(at for at in runs if at <= stamp_of(shown["updateTime"]))
    ended = seen[-1]
    assert kind_of(ended) == (SETTLED if runs else PROVISIONAL)
    assert "." not in ended["endTime"]
    assert stamp_of(ended["startTime"]) <= stamp_of(ended["endTime"]) <= stamp_of(ended["updateTime"])


class TestAfterARestart:
    """It is not known what Vertex AI shows then, so there are two variants."""

    def starts(self, emulator: Running, **more: Any) -> list[str]:
        """The different starts of a job that is preempted twice, in their order."""
        job = submit(emulator, "preempted", scheduling=SPOT, **more)
        found: list[str] = []
        while (shown := document(emulator, job))["state"] != "JOB_STATE_SUCCEEDED":
            if found[-1:] != [shown.get("startTime", "")]:
                found.append(shown.get("startTime", ""))
            emulator.advance(1)
        return found

    def kinds(self, starts: list[str]) -> list[str]:
        return [("none" if not each else PROVISIONAL if "." in each else SETTLED) for each in starts]

    def test_the_first_settled_start_is_kept(self, start: Start) -> None:
        emulator = start(start_after_restart="first")
        assert self.kinds(self.starts(emulator)) == ["none", PROVISIONAL, SETTLED]

    def test_the_last_settled_start_replaces_it_and_a_provisional_one_is_there_meanwhile(self, start: Start) -> None:
        emulator = start(start_after_restart="last")
        found = self.starts(emulator)

        assert self.kinds(found) == ["none", *[PROVISIONAL, SETTLED] * 3]
        assert found == sorted(found)

    def test_a_control_call_chooses_and_outlives_the_emulator(self, tmp_path: Path) -> None:
        for _ in range(2):
            with running(tmp_path / "state", scripted=True, start_after_restart="first") as emulator:
                before = emulator.call("GET", "/_emulator/settings")
                after = emulator.call("POST", "/_emulator/settings", {"start_after_restart": "last"})
        assert before == after == {"start_after_restart": "last"}

    @pytest.mark.parametrize("body", [{"start_after_restart": "never"}, {"wonder": 1}, {}, []])
    def test_a_control_call_with_nonsense_is_refused(self, start: Start, body: Any) -> None:
        emulator = start(start_after_restart="first")
        with pytest.raises(urllib.error.HTTPError) as refused:
            emulator.call("POST", "/_emulator/settings", body)
        with refused.value as reply:
            assert json.loads(reply.read())["error"]["status"] == "INVALID_ARGUMENT"
        assert emulator.call("GET", "/_emulator/settings") == {"start_after_restart": "first"}

    def test_a_script_chooses_for_its_jobs(self, start: Start) -> None:
        emulator = start(start_after_restart="first")
        rule = {"match": "mine", "script": "preempted", "times": {"start_after_restart": "last"}}
        emulator.call("POST", "/_emulator/script", rule)
        made = emulator.call("POST", JOBS, job_body(name="mine", scheduling=SPOT))
        emulator.advance(310)

        assert facts(emulator, made)["attempt"] == 2
        assert kind_of(document(emulator, made)) == PROVISIONAL
        with pytest.raises(urllib.error.HTTPError) as refused:
            emulator.call("POST", "/_emulator/script", rule | {"times": {"start_after_restart": "x"}})
        refused.value.close()


def test_real_jobs_keep_the_floors_without_skipping(start: Start) -> None:
    emulator = start(scripted=False, skips_waits=False, speed=100_000)
    job = emulator.call("POST", JOBS, python("print(1)"))
    seen = [job]
    while seen[-1]["state"] != "JOB_STATE_SUCCEEDED":
        seen.append(document(emulator, job))

    assert "JOB_STATE_QUEUED" in {each["state"] for each in seen}
    runs = next(each for each in seen if each["state"] == "JOB_STATE_RUNNING")
    assert kind_of(runs) == SETTLED
    assert stamp_of(runs["startTime"]) <= stamp_of(runs["updateTime"])
