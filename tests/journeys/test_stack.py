"""The way of a real training job through the whole site, and what kill -9 may not break."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.management.supervisor import ports
from tests.support import postgres, redis, waiting
from tests.support.person import Person
from tests.support.stack import Stack

pytestmark = pytest.mark.stack

RUN_SECONDS = 120
QUICK = {"pool-0-args": "--epochs 20 --seconds-per-epoch 0.2"}
SLOW = {"pool-0-args": "--epochs 16 --seconds-per-epoch 0.5"}


@pytest.fixture
def person(stack: Stack) -> Iterator[Callable[[str], Person]]:
    """`person("engineer")` is signed in."""
    people: list[Person] = []

    def sign_in(name: str) -> Person:
        people.append(Person(stack.address).sign_in(name))
        return people[-1]

    yield sign_in
    for each in people:
        each.close()


def finished(person: Person, job: str) -> dict[str, Any]:
    """Wait for the end of a job and return its story."""
    ends = ("succeeded", "failed", "cancelled", "rejected", "submit_failed", "expired", "withdrawn")

    def ended() -> dict[str, Any] | None:
        story = person.story(job)
        return story if story["state"] in ends else None

    story = waiting.until(ended, seconds=RUN_SECONDS, every=0.5, what="the job has ended")
    assert story is not None
    return story


def states(story: dict[str, Any]) -> list[str]:
    """Return the states in which the job was, in the order of its events."""
    return [event["to_state"] for event in story["events"] if event["kind"] == "state"]


def run_example(person: Callable[[str], Person], **changes: str) -> tuple[Person, str]:
    """Request the example as the engineer and approve it as the approver; return the engineer and the job."""
    engineer = person("engineer")
    job = engineer.request_example(**changes)
    person("approver").decide(job)
    return engineer, job


class TestTheExample:
    def test_is_requested_approved_trained_and_counted(self, person: Callable[[str], Person]) -> None:
        engineer, job = run_example(person, **QUICK)

        story = finished(engineer, job)

        seen = states(story)
        assert story["state"] == "succeeded", story
        assert seen[:3] == ["awaiting_approval", "approved", "submitting"]
        assert seen[-1] == "succeeded"
        assert "running" in seen
        moments = [event["occurred_at"] for event in story["events"]]
        assert moments == sorted(moments)
        actors = {event["to_state"]: event["actor"] for event in story["events"] if event["kind"] == "state"}
        assert actors["awaiting_approval"] == "engineer"
        assert actors["approved"] == "approver"
        assert actors["succeeded"] is None
        page = waiting.until(
            lambda: page.text if "accuracy" in (page := engineer.open(job)).text else "",
            seconds=20,
            what="the metric in the log",
        )
        assert "accuracy" in page
        assert engineer.cost(job) > 0

    def test_is_invisible_to_another_team(self, person: Callable[[str], Person]) -> None:
        job = person("engineer").request_example(**QUICK)
        stranger = person("stranger")

        answer = stranger.session.get(stranger.address + job, timeout=20)

        assert answer.status_code == 404
        assert job not in stranger.open("/").text

    def test_is_not_approved_by_who_requested_it(self, person: Callable[[str], Person]) -> None:
        engineer = person("engineer")
        job = engineer.request_example(**QUICK)

        assert f"{job}decide/" not in engineer.open("/approvals/").text
        assert engineer.story(job)["state"] == "awaiting_approval"


@pytest.mark.parametrize("part", ["worker", "redis", "emulator", "web", "beat"])
def test_a_part_killed_in_the_middle_changes_nothing(part: str, stack: Stack, person: Callable[[str], Person]) -> None:
    engineer, job = run_example(person, **SLOW)
    waiting.until(lambda: engineer.story(job)["state"] == "running", seconds=RUN_SECONDS, what="the job runs")

    stack.replace(part)
    if part == "web":
        waiting.until(lambda: answers(engineer), seconds=20, what="the site answers")

    story = finished(engineer, job)
    assert story["state"] == "succeeded", story
    assert states(story).count("succeeded") == 1
    assert states(story).count("submitting") == 1
    assert any(f"{part} died" in line for line in stack.log)


def answers(person: Person) -> bool:
    """Tell whether the site serves."""
    import requests

    try:
        return person.open("/healthz").ok
    except requests.ConnectionError:
        return False


@pytest.mark.parametrize("with_make", [True, False], ids=["make up", "manage.py up"])
def test_kill_9_leaves_no_process_and_loses_no_job(tmp_path: Path, with_make: bool) -> None:
    stack = Stack(tmp_path, ports.choose("127.0.0.1"), with_make=with_make, TRAINBOARD_EMULATOR_SPEED="300")
    try:
        stack.start()
        engineer, approver = (Person(stack.address).sign_in(name) for name in ("engineer", "approver"))
        job = engineer.request_example(**SLOW)
        approver.decide(job)
        waiting.until(lambda: engineer.story(job)["state"] == "running", seconds=RUN_SECONDS, what="the job runs")

        before = stack.kill()
        stack.start()  # at once, while parts of the first run may still be ending
        waiting.until_gone(before, seconds=1)

        story = finished(engineer, job)
        assert story["state"] == "succeeded", story
        assert states(story).count("succeeded") == 1
        assert (stack.stop() == 0) is not with_make  # make calls it an error to be told to stop
        for each in (engineer, approver):
            each.close()
    finally:
        stack.close()


@pytest.mark.parametrize("with_make", [True, False], ids=["make up", "manage.py up"])
def test_kill_9_of_a_site_at_work_leaves_no_process(tmp_path: Path, with_make: bool) -> None:
    stack = Stack(tmp_path, ports.choose("127.0.0.1"), with_make=with_make, TRAINBOARD_EMULATOR_SPEED="300")
    try:
        stack.start()
        people = [Person(stack.address).sign_in(name) for name in ("engineer", "approver")]
        job = people[0].request_example(**SLOW)
        people[1].decide(job)
        waiting.until(lambda: people[0].story(job)["state"] == "running", seconds=RUN_SECONDS, what="the job runs")
        waiting.until(lambda: stack.running("train.py"), seconds=10, what="its process runs")

        family = stack.kill()

        assert len(family) >= 8
        waiting.until_gone(family, seconds=6)
        for each in people:
            each.close()
    finally:
        stack.close()


def test_runs_on_the_servers_of_a_team(tmp_path: Path) -> None:
    """PostgreSQL and Debian's Redis instead of the embedded ones, both through one address each."""
    database = Path(f"{os.environ['TRAINBOARD_TEST_STATE']}-team")  # short, and open to the user postgres
    with postgres.running(database), redis.running("system") as broker:
        servers = {"DATABASE_URL": postgres.url(database), "REDIS_URL": broker}
        stack = Stack(tmp_path / "state", ports.choose("127.0.0.1"), TRAINBOARD_EMULATOR_SPEED="300", **servers)
        try:
            stack.start()
            engineer, approver = (Person(stack.address).sign_in(name) for name in ("engineer", "approver"))
            job = engineer.request_example(**QUICK)
            approver.decide(job)

            assert finished(engineer, job)["state"] == "succeeded"
            assert stack.part("redis") is None
            assert engineer.open("/readyz").json() == {"database": "ok", "redis": "ok"}
            assert stack.stop() == 0
            for each in (engineer, approver):
                each.close()
        finally:
            stack.close()
    assert not (tmp_path / "state" / "trainboard.sqlite3").exists()


def test_says_which_port_is_taken_and_who_runs_here(stack: Stack, tmp_path: Path) -> None:
    port = stack.address.rpartition(":")[2]

    elsewhere = Stack(tmp_path, int(port))
    with pytest.raises(AssertionError, match=rf"Port {port} on 127\.0\.0\.1 is taken .* PORT=\d+ make up"):
        elsewhere.start()
    here = Stack(Path(stack.environment["TRAINBOARD_STATE"]), ports.choose("127.0.0.1"))
    with pytest.raises(AssertionError, match=f"Trainboard already runs .* at {stack.address} "):
        here.start()
