"""Tests that kill -9 leaves no process behind and neither loses nor doubles a job."""

from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from dashboard.management.supervisor import ports
from tests.support import waiting
from tests.support.journey import RUN_SECONDS, SLOW, finished, run_example, states
from tests.support.person import Person
from tests.support.stack import MANAGE, Stack

pytestmark = pytest.mark.stack

GONE_SECONDS = 15
"""What a part takes to notice that its supervisor is gone, on a busy machine."""


@pytest.mark.parametrize("part", ["worker", "sender", "redis", "emulator", "web", "beat"])
def test_a_part_killed_in_the_middle_changes_nothing(part: str, stack: Stack, person: Callable[[str], Person]) -> None:
    engineer, job = run_example(person, **SLOW)
    waiting.until(lambda: engineer.timeline(job)["state"] == "running", seconds=RUN_SECONDS, what="the job runs")

    stack.replace(part)
    if part == "web":
        waiting.until(lambda: answers(engineer), seconds=20, what="the site answers")

    timeline = finished(engineer, job)
    assert timeline["state"] == "succeeded", timeline
    assert states(timeline).count("succeeded") == 1
    assert states(timeline).count("submitting") == 1
    assert any(f"{part} stopped unexpectedly" in line for line in stack.log)


def answers(person: Person) -> bool:
    """Return whether the site responds."""
    try:
        return person.open("/healthz").ok
    except requests.ConnectionError:
        return False


@pytest.mark.parametrize("program", [("make",), MANAGE], ids=["make up", "manage.py up"])
def test_kill_9_leaves_no_process_and_loses_no_job(tmp_path: Path, program: tuple[str, ...]) -> None:
    stack = Stack(tmp_path, ports.choose("127.0.0.1"), program=program, TRAINBOARD_EMULATOR_SPEED="300")
    try:
        stack.start()
        engineer, approver = (Person(stack.address).sign_in(name) for name in ("engineer", "approver"))
        job = engineer.request_example(**SLOW)
        approver.decide(job)
        waiting.until(lambda: engineer.timeline(job)["state"] == "running", seconds=RUN_SECONDS, what="the job runs")

        before = stack.kill()
        stack.start()  # at once, while parts of the first run may still be ending
        waiting.until_gone(before, seconds=GONE_SECONDS)

        timeline = finished(engineer, job)
        assert timeline["state"] == "succeeded", timeline
        assert states(timeline).count("succeeded") == 1
        assert (stack.stop() == 0) is (program == MANAGE)  # make calls it an error to be told to stop
        for each in (engineer, approver):
            each.close()
    finally:
        stack.close()


@pytest.mark.parametrize("program", [("make",), MANAGE], ids=["make up", "manage.py up"])
def test_kill_9_of_a_site_at_work_leaves_no_process(tmp_path: Path, program: tuple[str, ...]) -> None:
    stack = Stack(tmp_path, ports.choose("127.0.0.1"), program=program, TRAINBOARD_EMULATOR_SPEED="300")
    try:
        stack.start()
        people = [Person(stack.address).sign_in(name) for name in ("engineer", "approver")]
        job = people[0].request_example(**SLOW)
        people[1].decide(job)
        waiting.until(lambda: people[0].timeline(job)["state"] == "running", seconds=RUN_SECONDS, what="the job runs")
        waiting.until(lambda: stack.running("train.py"), seconds=10, what="its process runs")

        family = stack.kill()

        assert len(family) >= 8
        waiting.until_gone(family, seconds=GONE_SECONDS)
        for each in people:
            each.close()
    finally:
        stack.close()


def test_kill_9_while_the_web_part_starts_leaves_no_process(tmp_path: Path) -> None:
    stack = Stack(tmp_path, ports.choose("127.0.0.1"))
    try:
        stack.start()
        stack.replace("web")
        worker = waiting.until(lambda: (web := stack.part("web")) and web.children(), seconds=10, what="its worker")

        family = stack.kill()

        assert worker[0] in family
        waiting.until_gone(family, seconds=GONE_SECONDS)
    finally:
        stack.close()
