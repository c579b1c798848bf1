"""Tests of which tasks the watchdog finds to run too long. test_limits tests that it ends the process."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from dashboard import watchdog
from dashboard.watchdog import Watchdog

TASK = SimpleNamespace(name="jobs.tasks.observe")


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A list with the time of the stopwatch. The watchdog's own thread does not run."""
    shown = [0.0]
    monkeypatch.setattr(watchdog.time, "monotonic", lambda: shown[0])
    monkeypatch.setattr(threading.Thread, "start", lambda _: None)
    return shown


def test_only_a_task_that_runs_for_longer_than_the_limit_is_overdue(seconds: list[float]) -> None:
    dog = Watchdog(300)
    dog.begin(task_id="1", task=TASK, args=(), kwargs={"scope_id": 7})
    seconds[0] = 100
    dog.begin(task_id="2", task=TASK, kwargs={"scope_id": 8})
    seconds[0] = 300
    assert dog.overdue() is None

    seconds[0] = 301
    stuck = dog.overdue()

    assert stuck is not None
    assert (stuck.name, stuck.arguments) == ("jobs.tasks.observe", "() {'scope_id': 7}")
    assert stuck.thread == threading.get_ident()
    dog.end(task_id="1")
    assert dog.overdue() is None
    seconds[0] = 401
    assert dog.overdue() is not None


def test_the_end_of_a_task_that_nobody_saw_begin_does_no_harm(seconds: list[float]) -> None:
    dog = Watchdog(300)

    dog.end(task_id="1")

    assert dog.overdue() is None


def test_one_thread_watches_all_tasks_and_a_forked_process_has_its_own(
    seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: begun.append(thread))
    dog = Watchdog(300)
    for number in range(3):
        dog.begin(task_id=str(number), task=TASK)
    assert len(begun) == 1

    monkeypatch.setattr(watchdog.os, "getpid", lambda: -1)
    dog.begin(task_id="9", task=TASK)

    assert len(begun) == 2


def test_long_arguments_are_cut(seconds: list[float]) -> None:
    dog = Watchdog(1)
    dog.begin(task_id="1", task=TASK, args=("x" * 10_000,))
    seconds[0] = 2

    stuck = dog.overdue()

    assert stuck is not None
    assert len(stuck.arguments) == 500
